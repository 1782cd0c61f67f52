-- Takes out the names of devices whose tokens are free. One that was bound again meanwhile keeps
-- its time.
-- KEYS: bindings, bound of a user.
-- list: members.
local bindings, bound = unpack(KEYS)
for _, member in ipairs(list) do
  if redis.call('SISMEMBER', bindings, member) == 0 then redis.call('HDEL', bound, member) end
end
return 1
