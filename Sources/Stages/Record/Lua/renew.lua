-- Puts off the end of claims, all of one event. Needs `clock`.
-- KEYS: settled segments, claims.
-- args: claim_ms: how long a claim lives; lifetime_seconds: of the key.
-- list: segment and owner of each claim.
-- Answers what `Renewal` says for each.
local settled, claims, answer = KEYS[1], KEYS[2], {}
for i = 1, #list, 2 do
  local segment, owner, found = list[i], list[i + 1], 'another'
  local is_done = redis.call('SISMEMBER', settled, segment) == 1
  local other, _, former = read(redis.call('HGET', claims, segment) or owner .. ' 0')
  if is_done then found = 'settled'
  elseif other == owner then
    found = 'held'
    write(claims, segment, owner, args.claim_ms, former)
  end
  answer[#answer + 1] = found
end
redis.call('EXPIRE', claims, args.lifetime_seconds)
return answer
