-- Notes an event that is to be sent later. Needs `event` and what that needs, with its keys and
-- arguments, and `clock` and `scheduled`, with its arguments.
-- KEYS 8: the event as it came.
-- args: those of `scheduled`; expires_ms: when the last wave expires, in ms since 1970; document:
-- the event; longest_ms: how long an event may wait; scheduled_seconds: how long the keys live
-- meanwhile.
-- Answers {`due`, and of an event that is known when its first wave is due and the readers' hour,
-- or empty texts} when the event is to be opened, {`waits`, when it is due}, or {`duplicate`}.
local due = waits()
if due then
  -- A dead letter that is sent in again, that of a release too, may bring a corrected event.
  if args.replayed ~= '' and stands_for(redis.call('HGET', event, 'source')) then
    redis.call('SET', KEYS[8], args.document, 'EX', args.scheduled_seconds)
  end
  return {'waits', due}
end
local known = redis.call('HMGET', event, 'state', 'source', 'send_at_ms', 'send_local_ms')
if known[1] == 'scheduled' and not stands_for(known[2]) then
  -- It must not be registered with its streamer: its time has not come.
  count_duplicate(args.source)
  return {'duplicate'}
end
if known[1] or known[2] then return {'due', known[3] or '', known[4] or ''} end
if tonumber(args.send_ms) <= now then return {'due', '', ''} end
redis.call('HSET', event, 'state', 'scheduled', 'source', args.source, 'streamer', args.streamer,
  'template', args.template, 'settled', '0',
  'send_by_ms', whole(now + tonumber(args.longest_ms)), 'expires_ms', args.expires_ms)
note_times()
redis.call('SET', KEYS[8], args.document, 'EX', args.scheduled_seconds)
redis.call('EXPIRE', event, args.scheduled_seconds)
return {'waits', args.send_ms}
