-- Functions on a user's tokens. What is older than the lifetime is taken out with each that is
-- added, so that a user of whom many tokens go has no more.
-- KEYS: bindings, bound, quarantined and moves of a user.
-- args.moves_lifetime_seconds: how long moves are kept.
local bindings, bound, quarantined, user_moves = unpack(KEYS)

local function moved_to(token)
  local number = redis.pcall('ZSCORE', user_moves, token)
  return type(number) == 'string' and tonumber(number) or 0
end

-- A user whose key is something else loses a token all the same.
local function remember(token, number)
  local kind = redis.call('TYPE', user_moves)['ok']
  if kind ~= 'zset' and kind ~= 'none' then return end
  local old = string.format('%.0f', number - args.moves_lifetime_seconds * 1000000)
  redis.call('ZADD', user_moves, number, token)
  redis.call('ZREMRANGEBYSCORE', user_moves, '-inf', old)
  redis.call('EXPIRE', user_moves, args.moves_lifetime_seconds)
end
