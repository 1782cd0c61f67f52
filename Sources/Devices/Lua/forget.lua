-- What was retired is removed, and is not to be looked at again, but for what was retired last:
-- somebody may be writing to it still.
-- KEYS: the hash of an audience.
-- args: next: as the caller announced it; kept: what is kept, or empty.
-- Answers 1, or 0 when another rewrite was announced.
local heading = KEYS[1]
if redis.call('HGET', heading, 'next') ~= args.next then return 0 end
redis.call('HDEL', heading, 'retired')
if args.kept ~= '' then redis.call('HSET', heading, 'retired', args.kept) end
return 1
