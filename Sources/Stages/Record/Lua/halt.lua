-- Stops a fan-out, or lets it go on. Needs `permissions`.
-- KEYS: event.
-- args: wanted: `paused`, `cancelled`, or empty to let it go on; now: in ms since 1970; reason: in
-- words; by: who wants it, or empty; lifetime_seconds: of the event's hash; ahead: empty, unless an
-- event that is not there yet is stopped too.
-- Answers {what it did, the state or the halt that says so}: `done` and `already` with `scheduled`
-- of an event of which something may be sent later.
local event, wanted = KEYS[1], args.wanted
local problem = forbidden({{'HMGET', event, 'f'}, {'HSET', event, 'f', 'v'},
  {'HDEL', event, 'f'}, {'EXPIRE', event, '1'}})
if problem then return problem end
local known = redis.call('HMGET', event, 'state', 'brake', 'waves')
local state, halt = known[1], known[2] or ''
if not state and args.ahead == '' then return {'unknown', ''} end
local now_is = (state == 'scheduled' or known[3]) and 'scheduled' or halt
if halt == wanted then return {'already', now_is} end
if halt == 'cancelled' then return {'cancelled', halt} end
-- Of what is incomplete, a segment may come back from the dead letters.
if state == 'done' or state == 'expired' then return {'ended', state} end
if wanted == '' then
  redis.call('HDEL', event, 'brake', 'brake_ms', 'brake_why', 'brake_by')
else
  redis.call('HSET', event, 'brake', wanted, 'brake_ms', args.now,
    'brake_why', args.reason, 'brake_by', args.by)
  -- One that waits for its time lives longer.
  if state ~= 'scheduled' then redis.call('EXPIRE', event, args.lifetime_seconds) end
end
return {'done', now_is}
