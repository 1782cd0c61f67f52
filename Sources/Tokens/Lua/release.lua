-- Takes a token from its owner. Nobody owns it then, until it is known that the user has not bound
-- it again. Needs `moves`, with its keys.
-- args: user: who has the token no more.
-- Answers nothing when it is another's, {wrong} when a key of the token is something else, else the
-- number of the move and who has to leave besides.
local user, owner = args.user, redis.pcall('GET', owner_key)
local last = redis.pcall('HGET', moves_key, 'number')
if type(owner) == 'table' or type(last) == 'table' then return {'wrong'} end
local is_free = not owner or owner == ''
if owner ~= user and not (is_free and redis.call('HGET', moves_key, ':' .. user)) then
  return {}
end
local number, leaving = next_number(last), leaving_users(user)
local answer = {number}
for _, each in ipairs(leaving) do answer[#answer + 1] = each end
leaving[#leaving + 1] = user
keep(number, leaving)
redis.call('DEL', owner_key)
return answer
