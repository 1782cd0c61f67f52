-- Gives up a claim. What may have been sent stays under the owner's name, as a claim that ended in
-- 1970; otherwise the claim whose place it took is there again. Needs `clock`.
-- KEYS: claims.
-- args: segment; owner; sent: `sent`, or empty.
-- Answers 1 when the claim was the owner's.
local claims = KEYS[1]
local held = redis.call('HGET', claims, args.segment)
if not held then return 0 end
local owner, _, former = read(held)
if owner ~= args.owner then return 0 end
if args.sent == 'sent' then former = owner .. ' 0' end
if former == '' then return redis.call('HDEL', claims, args.segment) end
redis.call('HSET', claims, args.segment, former)
return 1
