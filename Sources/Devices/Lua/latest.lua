-- By Redis' clock, in ms since 1970. What is said to come from the future is no time.
-- args.tolerance_ms: how far another clock may be ahead.
local now = redis.call('TIME')[1] * 1000
local latest = now + args.tolerance_ms
