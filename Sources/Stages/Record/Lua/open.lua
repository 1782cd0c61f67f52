-- Opens a fan-out and, when that is one segment, claims it in the same breath. Needs `event` and
-- what that needs, with its keys and arguments, and `fan_out_end`, `clock`, `claims` and
-- `scheduled`.
-- KEYS 8: the event as it came, where it is kept what became of its pushes.
-- args: source; segments; plan; replayed: the source that this record replays, or empty; segment,
-- owner, claim_ms and over, as `claims` has them: `segment` is the only one of the event, empty for
-- an event of several; refusal: why it is not sent, or empty; trace: of which pushes it is kept
-- what became of them, or empty; document: the event as it came; expires_ms: when the event
-- expires, in ms since 1970; waves: in how many an event for a local hour is sent, else empty;
-- released: the record that a release repeats, or empty; and those of `note_times`, where there are
-- waves.
-- Answers {what it is, the plan it was opened with, its segments, how many of them were published,
-- outcomes of a fan-out that is done already or else what the claim came to, empty when it was not
-- asked for, why it is not sent}, {`waits`, when a scheduled event is due}, or {`duplicate`, and
-- `scheduled` where the event of that id waits for its time}.
local source, segments, plan, replayed = args.source, args.segments, args.plan, args.replayed
local segment = args.segment
problem = segment ~= '' and may_not_claim()
if problem then return problem end
-- Under another plan the segment is another one. What is opened stays so if this fails.
local function claimed(known_plan, known_segments)
  if segment == '' or known_plan ~= plan or known_segments ~= segments then return {} end
  return claim('')
end
local due = waits()
if due then return {'waits', due} end
local is_released = begin_released('running')
local known = redis.call('HMGET', event, 'state', 'source', 'plan', 'segments')
-- A release stands for the record that it repeats. A dead letter that was sent in again takes the
-- place of that record: should it become a dead letter itself, that one names it.
if args.released ~= '' and known[2] == args.released then source = args.released end
-- A halt may be there before it: its stream ended while it was being opened.
if is_released or not known[1] and not known[2] then
  local why = args.refusal
  local is_cancelled = is_released and redis.call('HGET', event, 'brake') == 'cancelled'
  if why ~= '' or is_cancelled then plan, segments = 'none', '0' end
  create('running')
  redis.call('HSET', event, 'source', source, 'plan', plan, 'segments', segments,
    'expires_ms', args.expires_ms)
  count('events', 1)
  if args.trace ~= '' then redis.call('HSET', event, 'trace', args.trace) end
  if args.waves ~= '' then
    redis.call('HSET', event, 'waves', args.waves)
    -- Its first waves were due when it was read: the others are released.
    if not is_released then note_times() end
  end
  if is_released then redis.call('HDEL', event, 'release_dead_letter') end
  -- Each further wave is made of it.
  if args.trace ~= '' or args.waves ~= '' then
    try('SET', KEYS[8], args.document, 'EX', args.lifetime_seconds)
  elseif is_released then
    try('DEL', KEYS[8])
  end
  if is_cancelled then
    why = 'cancelled'
    count('events_stopped', 1)
  elseif why ~= '' then
    redis.call('HSET', event, 'brake', 'cancelled', 'brake_ms', whole(now), 'brake_why', why)
    count('events_stopped', 1)
  end
  if segments == '0' then finish('done') end
  keep()
  if segments == '0' then return {'empty', plan, segments, '0', outcomes(), why} end
  return {'new', plan, segments, '0', claimed(plan, segments)}
end
if replayed ~= '' and known[2] == replayed then
  redis.call('HSET', event, 'source', source)
  known[2] = source
end
if known[2] and known[2] ~= source then
  count_duplicate(source)
  if known[1] == 'scheduled' then return {'duplicate', 'scheduled', '', '0'} end
  keep()
  return {'duplicate', '', '', '0'}
end
if known[1] == 'done' or known[1] == 'expired' then return {'finished', '', '', '0'} end
if redis.call('SREM', dead, 'event') == 1 then
  note_lost()
  reopen()
elseif known[1] == 'incomplete' then
  -- What Redis has forgotten is done again by who reads the record again.
  if not redis.call('HGET', event, 'forgotten_ms') then return {'finished', '', '', '0'} end
  reopen()
end
if not known[1] then create('running') end
redis.call('HSETNX', event, 'source', source)
redis.call('HSETNX', event, 'plan', plan)
redis.call('HSETNX', event, 'segments', segments)
redis.call('HSETNX', event, 'expires_ms', args.expires_ms)
if args.released ~= '' then redis.call('HDEL', event, 'release_dead_letter') end
keep()
known = redis.call('HMGET', event, 'plan', 'segments', 'published')
return {'resumed', known[1], known[2], known[3] or '0', claimed(known[1], known[2])}
