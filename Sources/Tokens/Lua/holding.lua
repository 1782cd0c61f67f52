-- `has(bindings, member)`: whether the user has the member's token in another app or environment:
-- then it stays theirs. With more devices than anybody has that is taken for granted. The ending of
-- a member is a colon and the token.
local function has(bindings, member)
  local number = redis.pcall('SCARD', bindings)
  if type(number) ~= 'number' then return false end
  if number > 1000 then return true end
  local ending = string.match(member, ':[^:]*$') or member
  for _, other in ipairs(redis.call('SMEMBERS', bindings)) do
    if string.sub(other, -#ending) == ending then return true end
  end
  return false
end
