-- Needs `token_of` and `latest`.
-- KEYS: bound of a user.
-- args: token; maximum_devices: how many are looked through; earliest_ms: no device was bound
-- before.
-- Answers when the token was bound last, nothing when it was not or that cannot be told, and `many`
-- for a user with more devices than we write.
local bound = KEYS[1]
local devices = redis.pcall('HLEN', bound)
-- A key of another type tells nothing.
if type(devices) == 'table' then return false end
if devices > tonumber(args.maximum_devices) then return 'many' end
local last = false
local times = redis.call('HGETALL', bound)
for i = 1, #times, 2 do
  local at = tonumber(times[i + 1])
  local is_possible = at and at >= tonumber(args.earliest_ms) and at <= latest
  if token_of(times[i]) == args.token and is_possible and (not last or at > last) then
    last = at
  end
end
return last and string.format('%.0f', last)
