-- `forbidden(commands)` is the error that a script answers where our user may not run one of them,
-- or Redis does not have it, else nothing: a script that asks first is not left half done. Redis
-- 6.2 cannot be asked.
local function forbidden(commands)
  if not redis.acl_check_cmd then return end
  for _, command in ipairs(commands) do
    local is_known, may = pcall(redis.acl_check_cmd, unpack(command))
    if not is_known then return redis.error_reply("ERR unknown command '" .. command[1] .. "'") end
    if not may then
      local on = command[2] and ' on ' .. command[2] or ''
      return redis.error_reply('NOPERM our user may not run ' .. command[1] .. on)
    end
  end
end
