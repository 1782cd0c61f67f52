-- `token_of(member)`: the last field of a member, the rest of the text: tokens may hold colons.
-- `topic_of(member)`: its topic. Apple's members alone have a field for the environment, and
-- Web Push's alone one for keys. As `Binding.token(ofMember:)`.
local function fields_of(member)
  if string.sub(member, 1, 5) == 'apns:' then
    return string.match(member, '^apns:[^:]*:([^:]*):(.*)$')
  end
  if string.sub(member, 1, 8) == 'webpush:' then
    return string.match(member, '^webpush:([^:]*):[^:]*:(.*)$')
  end
  return string.match(member, '^[^:]*:([^:]*):(.*)$')
end

local function token_of(member)
  local _, token = fields_of(member)
  return token or member
end

local function topic_of(member)
  return (fields_of(member))
end
