-- The event has told nobody, and keeps no later one back. Where it may come again, it is not
-- refused for what was true this time. What a release has registered, only a release takes back:
-- another record of that id may be registered at the same time, and find out later that it came
-- before the event's time.
-- KEYS: streamer.
-- args: id: of the event; kind; again: empty, unless the event may come again; release: empty,
-- unless the record releases a scheduled event.
-- Answers whether it was taken back.
local streamer = KEYS[1]
if args.release == '' and redis.call('HGET', streamer, 'release:' .. args.id) then return 0 end
local last = redis.call('HGET', streamer, 'last:' .. args.kind) or ''
if string.match(last, '^%d+ (.*)$') == args.id then
  redis.call('HDEL', streamer, 'last:' .. args.kind)
end
if args.again ~= '' then
  redis.call('HDEL', streamer, 'event:' .. args.id, 'refused:' .. args.id,
    'release:' .. args.id)
end
return 1
