-- Notes that a stream has ended. Needs `streamer`, with its key.
-- args: stream; ended_ms: when it ended; lifetime_seconds: of the key; ahead_ms: by how much that
-- may be ahead of Redis' clock: what is further ahead must not stop the streams to come.
-- Answers the ids of the events that went live with it.
local stream = args.stream
local ended = math.min(tonumber(args.ended_ms), now + tonumber(args.ahead_ms))
local values, events = read_streamer(streamer), {}
local known = tonumber(values['ended:' .. stream]) or 0
if ended > known then redis.call('HSET', streamer, 'ended:' .. stream, whole(ended)) end
redis.call('EXPIRE', streamer, args.lifetime_seconds)
for name, value in pairs(values) do
  local id = string.match(name, '^event:(.*)$')
  local occurred, of = string.match(value, '^(%d+) (.*)$')
  if id and of == stream and tonumber(occurred) <= ended then events[#events + 1] = id end
end
table.sort(events)
return events
