-- `token_of(member)`: the last field of a member, the rest of the text: tokens may hold colons.
-- Only Apple's members have a field for the environment. As `Binding.token(ofMember:)`.
local function token_of(member)
  local pattern = '^[^:]*:[^:]*:(.*)$'
  if string.sub(member, 1, 5) == 'apns:' then pattern = '^apns:[^:]*:[^:]*:(.*)$' end
  return string.match(member, pattern) or member
end
