-- How a device is taken out. Needs `permissions` and `user_tokens`, with its keys. Without one of
-- these a device would be left half taken out.
local function may_not_drop()
  return forbidden({
    {'SMEMBERS', bindings}, {'HKEYS', bound}, {'HDEL', bound, 'a'}, {'SREM', bindings, 'a'},
    {'ZADD', user_moves, '1', 'a'}, {'ZREMRANGEBYSCORE', user_moves, '0', '1'},
    -- For the token's own keys, which come next.
    {'HSET', bound, 'a', '1'}, {'DEL', bound}, {'EXPIRE', bound, '1'}, {'TIME'}})
end

local function drop(member)
  redis.pcall('HDEL', bound, member)
  redis.pcall('HDEL', quarantined, member)
  return redis.call('SREM', bindings, member)
end
