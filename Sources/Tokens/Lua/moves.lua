-- Functions on the moves of a token.
-- KEYS: owner of the token, its moves.
-- args.moves_lifetime_seconds: how long moves are kept.
local owner_key, moves_key = KEYS[1], KEYS[2]

-- Each move's number is larger than the last one's, whatever the clock says.
local function next_number(last)
  local time = redis.call('TIME')
  local number = time[1] * 1000000 + time[2]
  return string.format('%.0f', math.max(number, (tonumber(last or '') or 0) + 1))
end

-- While somebody has to leave, the moves have no end.
local function keep(number, leaving)
  -- Fails before anything is deleted where our user may not write.
  redis.call('HSET', moves_key, 'number', number)
  redis.call('DEL', moves_key)
  redis.call('HSET', moves_key, 'number', number)
  for _, user in ipairs(leaving) do redis.call('HSET', moves_key, ':' .. user, number) end
  if #leaving == 0 then
    redis.call('EXPIRE', moves_key, args.moves_lifetime_seconds)
  end
end

local function leaving_users(except)
  local users = {}
  for _, field in ipairs(redis.call('HKEYS', moves_key)) do
    if string.sub(field, 1, 1) == ':' and field ~= ':' .. except then
      users[#users + 1] = string.sub(field, 2)
    end
  end
  return users
end
