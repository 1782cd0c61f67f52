-- Whether an event may reach a user who has had others within the hour. Runs once for each
-- recipient of a page, so that ARGV has no names: the event, how many there may be, and within how
-- many seconds.
-- KEYS: events that reached the user.
-- Answers 1 when it may, 0 when it may not.
local reached = KEYS[1]
local event, maximum, seconds = unpack(ARGV)
local known = redis.pcall('ZSCORE', reached, event)
if type(known) == 'table' then return known end
if known then return 1 end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local past = string.format('%.0f', now - tonumber(seconds) * 1000)
redis.call('ZREMRANGEBYSCORE', reached, '-inf', past)
if redis.call('ZCARD', reached) >= tonumber(maximum) then return 0 end
redis.call('ZADD', reached, string.format('%.0f', now), event)
redis.call('EXPIRE', reached, seconds)
return 1
