-- Announces a rewrite: from now on follows and unfollows go to both generations. Whoever was
-- announced before can no longer finish, so nobody will ever read its shards. Needs `retiring`,
-- with its key.
-- args: shards, generation: as the caller read them; next: as it shall be.
-- Answers {done, next as it was, all that is retired}, or {moved}.
local known = redis.call('HMGET', heading, 'shards', 'generation', 'next', 'retired')
if (known[1] or '') ~= args.shards or (known[2] or '') ~= args.generation then return {'moved'} end
local retired = known[4] or ''
local old, old_shards = string.match(known[3] or '', '^(%d+):(%d+)$')
-- A rewrite that broke off as it ended is what fan-outs read.
if old and old ~= known[2] then retired = retire(known[4], old, old_shards) end
redis.call('HSET', heading, 'next', args.next)
return {'done', known[3] or '', retired}
