-- Writes, so that replicas can be waited for.
-- KEYS: settled segments.
-- args: lifetime_seconds: of the key.
return redis.call('EXPIRE', KEYS[1], args.lifetime_seconds)
