-- Notes with its streamer that an event is going to be sent. Needs `streamer`, with its key.
-- args: id: of the event; stream; kind: or empty; occurred_ms; cooldown_ms: for how long a next
-- event of its kind is not sent (by Redis' clock, since workers' differ); lifetime_seconds: of the
-- key; release: empty, unless the record releases a scheduled event.
-- Answers why the event is not sent, or an empty text; the same to whoever asks again.
local id, stream, kind, occurred = args.id, args.stream, args.kind, args.occurred_ms
local values = read_streamer(streamer)
redis.call('EXPIRE', streamer, args.lifetime_seconds)
local ended = tonumber(values['ended:' .. stream])
if ended and tonumber(occurred) <= ended then return 'stream ended' end
if args.release ~= '' then redis.call('HSET', streamer, 'release:' .. id, occurred) end
-- It was told of, and read again; or Redis has lost what was noted of it.
if values['event:' .. id] then return '' end
local refused = string.match(values['refused:' .. id] or '', '^%d+ (.*)$')
if refused then return refused end
local last = string.match(values['last:' .. kind] or '', '^%d+')
local since = now - (tonumber(last) or -math.huge)
if since >= 0 and since < tonumber(args.cooldown_ms) then
  redis.call('HSET', streamer, 'refused:' .. id, occurred .. ' cooldown')
  redis.call('EXPIRE', streamer, args.lifetime_seconds)
  return 'cooldown'
end
redis.call('HSET', streamer, 'event:' .. id, occurred .. ' ' .. stream)
if kind ~= '' then
  redis.call('HSET', streamer, 'last:' .. kind, whole(now) .. ' ' .. id)
end
redis.call('EXPIRE', streamer, args.lifetime_seconds)
return ''
