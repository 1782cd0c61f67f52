-- Takes away the hash of an audience of nobody, unless anything has become of it since it was
-- marked. Who begins to follow just then finds it gone, and makes another.
-- KEYS: the hash of an audience.
-- args: shards, generation.
-- Answers 1, or 0 when the hash stays.
local heading = KEYS[1]
local known = redis.call(
  'HMGET', heading, 'shards', 'generation', 'next', 'followers', 'erasing')
if known[1] ~= args.shards or known[2] ~= args.generation or known[3] or known[4] ~= '0'
    or known[5] ~= args.generation then
  return 0
end
redis.call('DEL', heading)
return 1
