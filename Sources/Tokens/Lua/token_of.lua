-- `token_of(member)`: the fourth field of a member, the rest of the text, since tokens may hold
-- colons. As `Binding.token(ofMember:)`.
local function token_of(member)
  return string.match(member, '^[^:]*:[^:]*:[^:]*:(.*)$') or member
end
