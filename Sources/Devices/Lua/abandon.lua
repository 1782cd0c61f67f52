-- Takes the announcement of a rewrite back if it still is ours. Needs `retiring`, with its key.
-- args: generation, shards.
-- Answers {done}, or {current} when the generation is what fan-outs read: then nothing of it may
-- go.
local known = redis.call('HMGET', heading, 'generation', 'next', 'retired')
if known[1] == args.generation then return {'current'} end
if known[2] == args.generation .. ':' .. args.shards then
  redis.call('HDEL', heading, 'next')
  retire(known[3], args.generation, args.shards)
end
return {'done'}
