-- Gives the right to recover a fan-out. Who asks again because the answer was lost hears the same.
-- Needs `clock`.
-- KEYS: recovery.
-- args: owner: who asks; age_ms: since the loss; interval_ms: between recoveries; lifetime_seconds:
-- of the key.
-- Answers 0 when the asker is to recover the fan-out, -1 when nobody is, or in how many ms to ask
-- again.
local recovery = KEYS[1]
local last, owner = string.match(redis.call('GET', recovery) or '', '^(%d+) (.*)$')
last = tonumber(last)
if last and last <= now then
  if owner == args.owner then return 0 end
  if last >= now - tonumber(args.age_ms) then return -1 end
  local left = last + tonumber(args.interval_ms) - now
  if left > 0 then return left end
end
redis.call('SET', recovery, whole(now) .. ' ' .. args.owner, 'EX', args.lifetime_seconds)
return 0
