-- Makes the written generation the current one. Needs `permissions` and `retiring`, with its key.
-- args: generation, shards; minimum: how many followers it must have; followers: how many it has.
-- Answers {done, followers, old generation, old shards}, {few}, or {superseded}.
local problem = forbidden({{'HSET', heading, 'a', '1'}, {'HDEL', heading, 'a'}})
if problem then return problem end
local known = redis.call('HMGET', heading, 'generation', 'shards', 'next', 'retired')
-- Done already, and the answer was lost.
if known[1] == args.generation and known[2] == args.shards then
  return {'done', redis.call('HGET', heading, 'followers') or '0', '', ''}
end
if known[3] ~= args.generation .. ':' .. args.shards then return {'superseded'} end
if tonumber(args.followers) < tonumber(args.minimum) then return {'few'} end
redis.call('HSET', heading, 'generation', args.generation, 'shards', args.shards,
  'followers', args.followers)
redis.call('HDEL', heading, 'next')
-- Without a hash, a follow that broke off may have left the shard of the first generation.
local old, shards = known[1] or '0', known[2] or '1'
retire(known[4], old, shards)
return {'done', args.followers, old, shards}
