-- The facts about an event that is to be sent later. Needs `event_keys` and `clock`.
--
-- Its hash has the state `scheduled`, `send_at_ms`: when its first wave is due; `send_last_ms`: its
-- last; `send_local_ms`: the readers' hour, if it is one; `send_by_ms`: no later time may be set.
-- args: source: of the record that is read; released: the record that a release repeats, or empty.

-- Answers when the event is due, if the record that is read must not open it yet: it came too
-- early, or is not a release. Nothing: it is due, or the record is another event's of that id.
local function waits()
  local known = redis.call('HMGET', event, 'state', 'source', 'send_at_ms', 'brake')
  if known[1] ~= 'scheduled' then return nil end
  -- Its own record, read again. What that says may have been changed since.
  if known[2] == args.source then return known[3] end
  if known[2] ~= args.released or known[4] == 'cancelled' then return nil end
  if (tonumber(known[3]) or 0) > now then return known[3] end
  return nil
end

-- A release that is due takes the event out of its schedule: it is opened as a new one. The first
-- write of a script: where Redis is full it fails, and nothing is done.
local function begin_released(state)
  if redis.call('HGET', event, 'state') ~= 'scheduled' then return false end
  if redis.call('HGET', event, 'source') ~= args.released then return false end
  redis.call('HSET', event, 'state', state)
  return true
end
