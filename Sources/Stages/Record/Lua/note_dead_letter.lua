-- Notes that a segment, or what was to become segments, is in the dead letters. Needs `event` and
-- what that needs, with its keys and arguments, and `fan_out_end` and `clock`.
-- args: segment: or `event` or `plan`; segments: of the fan-out; code: of the reason; source: of
-- the event's record; released: empty, unless the dead letter was a release of that record;
-- follows: empty, unless another wave follows.
-- Answers {what it did, whether the fan-out ended with it, its outcomes then}, or {`awaited`, 0,
-- {}, when the event was due} when it is to be released once more.
local segment = args.segment
local known = redis.call('HMGET', event, 'state', 'source', 'send_at_ms')
local state, is_own = known[1], known[2] == args.source
if segment == 'event' and args.released ~= '' and is_own then
  -- One that was put off meanwhile is released at its new time anyway.
  local is_due = state == 'scheduled' and (tonumber(known[3]) or 0) <= now
  if is_due or args.follows ~= '' and (state == 'running' or state == 'incomplete') then
    redis.call('HSET', event, 'release_dead_letter', args.code)
    return {'awaited', 0, {}, known[3] or ''}
  end
end
-- Redis has an event that waits for its time, and it is sent then.
if segment == 'event' and state == 'scheduled' then return {'nothing', 0, {}} end
if segment == 'event' or segment == 'plan' then
  if segment == 'event' and not is_own
      or not state or state == 'done' or state == 'expired' then
    return {'nothing', 0, {}}
  end
elseif redis.call('SISMEMBER', settled, segment) == 1
    or string.find(segment, '~', 1, true)
    and redis.call('SISMEMBER', stragglers, segment) == 0 then
  return {'nothing', 0, {}}
end
if redis.call('EXISTS', event) == 0 then create('running') end
redis.call('HSETNX', event, 'state', 'running')
redis.call('HSETNX', event, 'segments', args.segments)
note_forgotten(redis.call('SCARD', settled))
redis.call('SADD', dead, segment)
redis.call('HSET', event, 'dead_letter', segment .. ' ' .. args.code)
note_lost()
local ended = conclude() == 2
keep()
return {'noted', ended and 1 or 0, ended and outcomes() or {}}
