-- `has(bindings, token)`: whether the user has the token in any app or environment: then it stays
-- theirs. With more devices than anybody has that is taken for granted. Needs `token_of`.
local function has(bindings, token)
  local number = redis.pcall('SCARD', bindings)
  if type(number) ~= 'number' then return false end
  if number > 1000 then return true end
  for _, member in ipairs(redis.call('SMEMBERS', bindings)) do
    if token_of(member) == token then return true end
  end
  return false
end
