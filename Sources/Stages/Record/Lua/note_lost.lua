-- Notes that the records of segments are lost. They count as those in the dead letters, with `lost`
-- as the reason. Needs `event` and what that needs, with its keys and arguments, and `fan_out_end`.
-- args: segments: of the fan-out.
-- list: names of the segments.
-- Answers as `note_dead_letter`.
local last = nil
if redis.call('HGET', event, 'state') ~= 'running' then return {'nothing', 0, {}} end
for _, segment in ipairs(list) do
  if redis.call('SISMEMBER', settled, segment) == 0
      and redis.call('SADD', dead, segment) == 1 then
    last = segment
  end
end
if not last then return {'nothing', 0, {}} end
redis.call('HSET', event, 'dead_letter', last .. ' lost')
note_lost()
local ended = conclude() == 2
keep()
return {'noted', ended and 1 or 0, ended and outcomes() or {}}
