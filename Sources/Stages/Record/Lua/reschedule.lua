-- Changes when a scheduled event is to be sent. Needs `permissions` and `clock`.
-- KEYS: event.
-- args: send_ms, last_ms: when its first and its last wave are due; local_ms: the readers' hour, or
-- empty, all in ms since 1970; ahead_ms: how far ahead that may be.
-- Answers {what it did, the state that says so, the latest time that may be set, or when it would
-- have expired}.
local event = KEYS[1]
local problem = forbidden({{'HMGET', event, 'f'}, {'HSET', event, 'f', 'v'},
  {'HDEL', event, 'f'}})
if problem then return problem end
local known = redis.call('HMGET', event, 'state', 'brake', 'expires_ms', 'send_last_ms',
  'send_by_ms')
local state, last = known[1], tonumber(args.last_ms)
if not state then return {'unknown', ''} end
if state ~= 'scheduled' then return {'begun', state} end
if known[2] == 'cancelled' then return {'cancelled', ''} end
local latest = math.min(now + tonumber(args.ahead_ms), tonumber(known[5]) or 0)
if last > latest then return {'late', whole(latest)} end
-- It lives as long from then on as before.
local lifetime = (tonumber(known[3]) or 0) - (tonumber(known[4]) or 0)
-- A wrong year must not end it unsent.
if last + lifetime <= now then return {'early', whole(last + lifetime)} end
redis.call('HSET', event, 'send_at_ms', args.send_ms, 'send_last_ms', args.last_ms,
  'expires_ms', whole(last + lifetime))
-- It is released once more.
redis.call('HDEL', event, 'release_dead_letter')
if args.local_ms ~= '' then
  redis.call('HSET', event, 'send_local_ms', args.local_ms)
else
  redis.call('HDEL', event, 'send_local_ms')
end
return {'done', ''}
