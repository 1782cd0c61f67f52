-- How a device is taken out. Needs `permissions`, `freeing` and `user_tokens`, with its keys.
-- Without one of these a device would be left half taken out.
local function may_not_drop()
  return forbidden({
    {'SMEMBERS', bindings}, {'HKEYS', bound}, {'HDEL', bound, 'a'}, {'SREM', bindings, 'a'}})
    or may_not_free(bound)
end

local function drop(member)
  redis.pcall('HDEL', bound, member)
  redis.pcall('HDEL', quarantined, member)
  return redis.call('SREM', bindings, member)
end
