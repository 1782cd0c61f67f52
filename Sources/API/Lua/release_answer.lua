-- Gives up a claim on a key of idempotency: the request was not done, and may be tried again.
-- Another's claim stays.
-- KEYS: the key.
-- args: claim.
local key = KEYS[1]
if redis.call('GET', key) == args.claim then return redis.call('DEL', key) end
return 0
