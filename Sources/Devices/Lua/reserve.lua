-- Hands out the number of a generation, once. Needs `types`.
-- KEYS: the hash of an audience.
-- args: shards, generation: as the caller read them; maximum: the largest number there is.
-- Answers {done, the number}, {moved} or {exhausted}.
local heading = KEYS[1]
local problem = wrong(heading, 'hash')
if problem then return problem end
local known = redis.call('HMGET', heading, 'shards', 'generation', 'next', 'last')
if (known[1] or '') ~= args.shards or (known[2] or '') ~= args.generation then return {'moved'} end
local next = string.match(known[3] or '', '^(%d+):') or ''
local number = math.max(
  tonumber(known[2] or '') or 0, tonumber(next) or 0, tonumber(known[4] or '') or 0) + 1
if number > tonumber(args.maximum) then return {'exhausted'} end
number = string.format('%.0f', number)
redis.call('HSET', heading, 'last', number)
return {'done', number}
