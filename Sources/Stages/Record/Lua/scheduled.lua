-- The facts about an event that is to be sent later. Needs `event_keys` and `clock`.
--
-- Its hash has the state `scheduled`, `send_at_ms`: when its first wave is due; `send_last_ms`: its
-- last; `send_local_ms`: the readers' hour, if it is one; `send_by_ms`: no later time may be set;
-- `appended_ms` and `traceparent`: of the record in which it came, where they are known;
-- `release_dead_letter`: why its last release is in the dead letters, if it is.
-- args: source: of the record that is read; released: the record that a release repeats, or empty;
-- replayed: the record that a dead letter repeats which was sent in again, or empty.

-- Whether the record that is read stands for the one in which the event came.
local function stands_for(first)
  return first == args.released or first == args.replayed
end

-- Answers when the event is due, if the record that is read must not open it: it is the event's own
-- record, read again, or came too early. Of one that was cancelled that is now. Nothing: the event
-- is due, or the record is another event's of that id.
local function waits()
  local known = redis.call('HMGET', event, 'state', 'source', 'send_at_ms', 'brake')
  if known[1] ~= 'scheduled' then return nil end
  local is_cancelled = known[4] == 'cancelled'
  -- Its own record, read again. What that says may have been changed since.
  if known[2] == args.source then return is_cancelled and whole(now) or known[3] end
  if is_cancelled or not stands_for(known[2]) then return nil end
  if (tonumber(known[3]) or 0) > now then return known[3] end
  return nil
end

-- A release that is due takes the event out of its schedule: it is opened as a new one. So does a
-- dead letter of the event's own record that is sent in again. The first write of a script: where
-- Redis is full it fails, and nothing is done.
local function begin_released(state)
  local known = redis.call('HMGET', event, 'state', 'source')
  if known[1] ~= 'scheduled' or not stands_for(known[2]) then return false end
  redis.call('HSET', event, 'state', state)
  return true
end

-- Notes when the event is to be sent, and what each release says of the record in which it came.
-- args: send_ms, last_ms: when its first and its last wave are due; local_ms: the readers' hour, or
-- empty; appended_ms: when its record was written, or 0, all in ms since 1970; traceparent: its
-- trace, or empty.
local function note_times()
  redis.call('HSET', event, 'send_at_ms', args.send_ms, 'send_last_ms', args.last_ms)
  if args.local_ms ~= '' then redis.call('HSET', event, 'send_local_ms', args.local_ms) end
  if args.traceparent ~= '' then redis.call('HSET', event, 'traceparent', args.traceparent) end
  if args.appended_ms ~= '0' then redis.call('HSET', event, 'appended_ms', args.appended_ms) end
end
