-- A browser's subscription with new keys takes the place of the one with the old keys, of the same
-- app and endpoint. Needs `permissions`, `token_of`, `user_tokens` and `dropping`.
local function has_keys(member)
  return string.sub(member, 1, 8) == 'webpush:'
end

-- Answers how many bindings there were.
local function drop_twins(member)
  local removed = 0
  if not has_keys(member) then return removed end
  for index, command in ipairs({'SMEMBERS', 'HKEYS', 'HKEYS'}) do
    for _, other in ipairs(redis.call(command, KEYS[index])) do
      if other ~= member and has_keys(other) and token_of(other) == token_of(member)
          and topic_of(other) == topic_of(member) then
        removed = removed + drop(other)
      end
    end
  end
  return removed
end
