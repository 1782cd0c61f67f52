-- Notes how many segments of an event are in Kafka. Never goes back; a plan that was a dead letter
-- and came again is one no longer. Needs `event` and what that needs, with its keys and arguments,
-- and `fan_out_end`.
-- args: published: how many they are.
if redis.call('EXISTS', event) == 0 then return 0 end
local known = tonumber(redis.call('HGET', event, 'published')) or 0
if tonumber(args.published) > known then redis.call('HSET', event, 'published', args.published) end
if redis.call('SREM', dead, 'plan') == 1 then
  note_lost()
  if redis.call('HGET', event, 'state') == 'incomplete' then reopen() end
end
return 1
