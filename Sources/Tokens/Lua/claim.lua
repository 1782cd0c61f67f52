-- Names a token's new owner. Needs `types` and `moves`, with their keys.
-- args: user; spares_others: there when the token is not to be taken from another.
-- Answers {another}, or the number of the move and who has to leave, which may be the user too, who
-- had it before.
local user, owner = args.user, redis.pcall('GET', owner_key)
if type(owner) == 'table' then return wrong(owner_key, 'string') end
local last = redis.pcall('HGET', moves_key, 'number')
if type(last) == 'table' then return wrong(moves_key, 'hash') end
local is_anothers = owner and owner ~= '' and owner ~= user
if is_anothers and args.spares_others then return {'another'} end
local number = next_number(last)
local answer = {number}
-- A token that nobody else had of late leaves no trace.
if is_anothers or last then
  local leaving = leaving_users(is_anothers and owner or '')
  if is_anothers then leaving[#leaving + 1] = owner end
  keep(number, leaving)
  for _, each in ipairs(leaving) do answer[#answer + 1] = each end
end
if owner ~= user then redis.call('SET', owner_key, user) end
return answer
