-- Settles an event that was stale when it was read. Needs `event` and what that needs, with its
-- keys and arguments. Redis' clock is asked too: a worker whose own is ahead must not expire an
-- event for everybody.
-- args: source; expires_ms: when the event expires, in ms since 1970.
-- Answers {expired}, {early, Redis' time}, {duplicate}, {finished} or {begun}.
local source = args.source
local time = redis.call('TIME')
local clock = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
if clock < tonumber(args.expires_ms) then return {'early', string.format('%.0f', clock)} end
local known = redis.call('HMGET', event, 'state', 'source', 'plan', 'segments')
if known[2] and known[2] ~= source then
  count_duplicate(source)
  keep()
  return {'duplicate'}
end
if known[1] == 'done' or known[1] == 'expired' then return {'finished'} end
if known[2] and known[3] and known[4] and known[4] ~= '0' then
  return {'begun'}
end
if not known[1] then
  create('expired')
  count('events', 1)
end
redis.call('HSETNX', event, 'source', source)
redis.call('HSETNX', event, 'segments', '0')
finish('expired')
keep()
return {'expired'}
