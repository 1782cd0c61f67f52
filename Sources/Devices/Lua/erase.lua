-- Forgets a user. From here on nothing reaches the user. The members stay in `bound` until their
-- tokens are free: who dies before that has left there which they are. A key of another type stands
-- under the user's name, and goes too. Needs `permissions` and `freeing`.
-- KEYS: what goes, devices first.
-- args: maximum_devices: as many go in one step; of more nothing goes, and the answer is empty.
-- Answers how many devices, devices set aside, fields of a profile, events and verdicts there were,
-- then the members whose tokens are to be free.
local bindings, bound, set_aside, profile, reached, verdicts, undated = unpack(KEYS)
local problem = forbidden({
  {'SCARD', bindings}, {'SMEMBERS', bindings}, {'SISMEMBER', bindings, 'a'}, {'HLEN', bound},
  {'HKEYS', bound}, {'HSETNX', bound, 'a', '0'}, {'HDEL', bound, 'a'}, {'DEL', unpack(KEYS)},
  {'EXISTS', bound}}) or may_not_free(bound)
if problem then return problem end
for index, command in ipairs({'SCARD', 'HLEN', 'HLEN'}) do
  local number = redis.pcall(command, KEYS[index])
  if type(number) == 'number' and number > tonumber(args.maximum_devices) then return {} end
end
local function count(command, key)
  local number = redis.pcall(command, key)
  return type(number) == 'number' and number or redis.call('EXISTS', key)
end
local answer = {
  count('SCARD', bindings), count('HLEN', set_aside), count('HLEN', profile),
  count('ZCARD', reached), count('HLEN', verdicts)}
local kind = redis.call('TYPE', bound)['ok']
if kind ~= 'hash' then redis.call('DEL', bound) end
for index, command in ipairs({'SMEMBERS', 'HKEYS', 'HKEYS'}) do
  -- An error has no members.
  for _, member in ipairs(redis.pcall(command, KEYS[index])) do
    redis.call('HSETNX', bound, member, '0')
  end
end
redis.call('DEL', bindings, set_aside, profile, reached, verdicts, undated)
for _, member in ipairs(redis.call('HKEYS', bound)) do answer[#answer + 1] = member end
return answer
