-- Notes an event that is to be sent later. Needs `event` and what that needs, with its keys and
-- arguments, and `clock` and `scheduled`, with its arguments.
-- KEYS 8: the event as it came.
-- args: send_ms, last_ms: when its first and its last wave are due; local_ms: the readers' hour, or
-- empty; expires_ms: when the last wave expires, all in ms since 1970; document: the event;
-- longest_ms: how long an event may wait; scheduled_seconds: how long the keys live meanwhile.
-- Answers {`due`} when the event is to be opened, or {`waits`, when it is due}.
local due = waits()
if due then return {'waits', due} end
local known = redis.call('HMGET', event, 'state', 'source')
if known[1] or known[2] or tonumber(args.send_ms) <= now then return {'due'} end
redis.call('HSET', event, 'state', 'scheduled', 'source', args.source, 'streamer', args.streamer,
  'template', args.template, 'settled', '0', 'send_at_ms', args.send_ms,
  'send_last_ms', args.last_ms, 'send_by_ms', whole(now + tonumber(args.longest_ms)),
  'expires_ms', args.expires_ms)
if args.local_ms ~= '' then redis.call('HSET', event, 'send_local_ms', args.local_ms) end
redis.call('SET', KEYS[8], args.document, 'EX', args.scheduled_seconds)
redis.call('EXPIRE', event, args.scheduled_seconds)
return {'waits', args.send_ms}
