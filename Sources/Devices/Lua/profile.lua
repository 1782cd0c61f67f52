-- Sets and takes out fields of a profile: a reader sees all of it or nothing.
-- KEYS: profile.
-- args: maximum_fields: how many fields there may be.
-- list: name and value of each field; one without a value is taken out.
-- Answers 0, or how many there would be, which is refused unless there are fewer than before.
local profile = KEYS[1]
local before = redis.call('HLEN', profile)
local count = before
for i = 1, #list, 2 do
  local is_there = redis.call('HEXISTS', profile, list[i]) == 1
  if list[i + 1] == '' and is_there then count = count - 1 end
  if list[i + 1] ~= '' and not is_there then count = count + 1 end
end
if count > tonumber(args.maximum_fields) and count > before then return count end
for i = 1, #list, 2 do
  if list[i + 1] == '' then
    redis.call('HDEL', profile, list[i])
  else
    redis.call('HSET', profile, list[i], list[i + 1])
  end
end
return 0
