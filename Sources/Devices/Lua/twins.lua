-- A browser's subscription with new keys takes the place of the one with the old keys, of the same
-- app and endpoint. Needs `permissions`, `token_of`, `user_tokens`, `latest` and `dropping`.
local function has_keys(member)
  return string.sub(member, 1, 8) == 'webpush:'
end

local function are_twins(one, other)
  return one ~= other and has_keys(one) and has_keys(other) and token_of(one) == token_of(other)
    and topic_of(one) == topic_of(other)
end

-- Whether keys are bound that are younger than these.
local function has_younger_twin(member, at)
  if not has_keys(member) then return false end
  for _, other in ipairs(redis.call('SMEMBERS', bindings)) do
    local bound_at = are_twins(member, other) and tonumber(redis.call('HGET', bound, other) or '')
    if bound_at and bound_at > tonumber(at) and bound_at <= latest then return true end
  end
  return false
end

-- Answers how many bindings there were.
local function drop_twins(member)
  local removed = 0
  if not has_keys(member) then return removed end
  for index, command in ipairs({'SMEMBERS', 'HKEYS', 'HKEYS'}) do
    for _, other in ipairs(redis.call(command, KEYS[index])) do
      if are_twins(member, other) then removed = removed + drop(other) end
    end
  end
  return removed
end
