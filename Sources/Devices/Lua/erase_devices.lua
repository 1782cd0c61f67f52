-- Takes devices from a user; their names stay in `bound` until their tokens are free. Needs
-- `permissions` and `freeing`.
-- KEYS: bindings, bound, quarantined of a user.
-- list: members.
-- Answers how many were bound, and set aside.
local bindings, bound, quarantined = unpack(KEYS)
local problem = forbidden({
  {'HSETNX', bound, 'a', '0'}, {'SREM', bindings, 'a'}, {'HDEL', quarantined, 'a'}})
  or may_not_free(bound)
if problem then return problem end
local removed, set_aside = 0, 0
for _, member in ipairs(list) do
  redis.call('HSETNX', bound, member, '0')
  local number = redis.pcall('SREM', bindings, member)
  if type(number) == 'number' then removed = removed + number end
  number = redis.pcall('HDEL', quarantined, member)
  if type(number) == 'number' then set_aside = set_aside + number end
end
return {removed, set_aside}
