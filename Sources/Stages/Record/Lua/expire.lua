-- Settles an event that was stale when it was read. Needs `event` and what that needs, with its
-- keys and arguments, and `clock` and `scheduled`. Redis' clock is asked too: a worker whose own is
-- ahead must not expire an event for everybody.
-- KEYS 8: the event as it came, where it was scheduled.
-- args: source, released and replayed, as `scheduled` has them; expires_ms: when the event expires,
-- in ms since 1970.
-- Answers {expired}, {early, Redis' time}, {duplicate}, {finished}, {begun} or {waits, when a
-- scheduled event is due}.
local source = args.source
if now < tonumber(args.expires_ms) then return {'early', whole(now)} end
local due = waits()
if due then return {'waits', due} end
local known = redis.call('HMGET', event, 'state', 'source', 'plan', 'segments')
if args.released ~= '' and known[2] == args.released then source = args.released end
local is_released = begin_released('expired')
if is_released then known[1], source = false, known[2] end
if known[2] and known[2] ~= source then
  count_duplicate(source)
  if known[1] ~= 'scheduled' then keep() end
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
if is_released then try('DEL', KEYS[8]) end
keep()
return {'expired'}
