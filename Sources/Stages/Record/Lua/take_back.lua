-- The event has told nobody, and keeps no later one back. Where it may come again, it is not
-- refused for what was true this time.
-- KEYS: streamer.
-- args: id: of the event; kind; again: empty, unless the event may come again.
local streamer = KEYS[1]
local last = redis.call('HGET', streamer, 'last:' .. args.kind) or ''
if string.match(last, '^%d+ (.*)$') == args.id then
  redis.call('HDEL', streamer, 'last:' .. args.kind)
end
if args.again ~= '' then
  redis.call('HDEL', streamer, 'event:' .. args.id, 'refused:' .. args.id)
end
return 1
