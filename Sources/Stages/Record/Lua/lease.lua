-- Gives out what workers together may send in a second, in slices: a token bucket, of which the
-- hash knows up to which time it is used up. Time is Redis' own. Needs `permissions`.
-- KEYS: limit.
-- args: rate: pushes a second; pushes: that are asked for; lifetime_seconds: of the key.
-- Answers how many may go. At most half of what is there: so none of those that ask at the same
-- time has it all.
local limit = KEYS[1]
-- What was not used is kept for so long: a lane that asks a little late loses nothing.
local kept_us = 200000
local problem = forbidden({{'HGET', limit, 'f'}, {'HSET', limit, 'f', 'v'},
  {'EXPIRE', limit, '1'}})
if problem then return problem end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local each = 1000000 / tonumber(args.rate)
-- One whole push, however the division was rounded.
local kept = math.max(each + 1, kept_us)
local used = tonumber(redis.call('HGET', limit, 'used_until_us')) or 0
-- Beyond now it is only where the clock was set back.
used = math.min(math.max(used, now - kept), now)
local there = math.floor((now - used) / each)
local given = math.min(tonumber(args.pushes), math.ceil(there / 2))
redis.call('HSET', limit, 'used_until_us', string.format('%.0f', used + given * each))
redis.call('EXPIRE', limit, args.lifetime_seconds)
return given
