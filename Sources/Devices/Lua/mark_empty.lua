-- Notes that an erasure looks now whether anybody follows in its generation. A follow that is
-- confirmed after this takes the note away.
-- KEYS: the hash of an audience.
-- args: shards, generation.
-- Answers 1, or 0 when the hash is another.
local heading = KEYS[1]
local known = redis.call('HMGET', heading, 'shards', 'generation', 'next')
if known[1] ~= args.shards or known[2] ~= args.generation or known[3] then return 0 end
redis.call('HSET', heading, 'erasing', args.generation)
return 1
