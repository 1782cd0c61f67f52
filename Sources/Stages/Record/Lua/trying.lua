-- `try` does what may fail, and counts that in `failed`.
local failed = 0
local function try(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then
    failed = failed + 1
    return nil
  end
  return reply
end
