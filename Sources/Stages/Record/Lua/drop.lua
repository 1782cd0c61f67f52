-- Notes that nobody will plan segments of stragglers.
-- KEYS: claims.
-- args: lifetime_seconds: of the key.
-- list: their ids.
local claims = KEYS[1]
for _, segment in ipairs(list) do redis.call('HSET', claims, segment, 'dropped') end
redis.call('EXPIRE', claims, args.lifetime_seconds)
return 1
