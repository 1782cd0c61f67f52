-- Says whether the hash is still what it was when the shards were chosen, and counts.
-- KEYS: the hash of an audience.
-- args: shards, generation, next: as the caller read them; change: how many came or (less than 0)
-- went; is_follow: 1 when a hash is made where there is none.
-- Answers 1, or 0 when it has changed.
local heading = KEYS[1]
local known = redis.call('HMGET', heading, 'shards', 'generation', 'next', 'erasing')
if (known[1] or '') ~= args.shards or (known[2] or '') ~= args.generation
    or (known[3] or '') ~= args.next then
  return 0
end
if not known[1] then
  if args.is_follow ~= '1' then return 1 end
  redis.call('HSET', heading, 'shards', '1', 'generation', '0', 'followers', '0')
end
if args.change ~= '0' then redis.call('HINCRBY', heading, 'followers', args.change) end
-- An erasure that has looked for followers before this one must look again.
if args.is_follow == '1' and known[4] then redis.call('HDEL', heading, 'erasing') end
return 1
