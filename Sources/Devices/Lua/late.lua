-- A move that a later one has overtaken must change nothing any more. One of a token that was here
-- not long ago is remembered, so that what takes it away comes too late. Needs `types`,
-- `token_of`, `user_tokens` and `latest`.
local function is_late(member, number, is_returning)
  local token = token_of(member)
  local last = moved_to(token)
  if last > tonumber(number) then return true end
  if last > 0 or is_returning == '1' then remember(token, number) end
  return false
end

-- A registration that arrives late must not make the binding look older than it is.
local function is_news(text, at)
  local known = tonumber(text or '')
  return not known or known < tonumber(at) or known > latest and tonumber(at) <= latest
end

local function wrong_user()
  return wrong(bindings, 'set') or wrong(bound, 'hash') or wrong(quarantined, 'hash')
    or wrong(user_moves, 'zset')
end
