/// Lua of scripts in several rooms.
package enum KeyTypeScript {
  /// `wrong(key, type)` is the error that a script answers where a key holds another type, else
  /// nothing.
  package static let wrong = """
    local function wrong(key, wanted)
      local kind = redis.call('TYPE', key)['ok']
      if kind ~= wanted and kind ~= 'none' then
        -- A device token must not get into an error, which may be logged.
        if string.find(key, '{t:', 1, true) then key = 'the key of a token' end
        return redis.error_reply('WRONGTYPE ' .. key .. ' is a ' .. kind .. ', not a ' .. wanted)
      end
    end

    """

  /// `forbidden(commands)` is the error that a script answers where our user may not run one of
  /// them, else nothing: a script that asks first is not left half done. Redis 6.2 cannot be asked.
  package static let forbidden = """
    local function forbidden(commands)
      if not redis.acl_check_cmd then return end
      for _, command in ipairs(commands) do
        if not redis.acl_check_cmd(unpack(command)) then
          return redis.error_reply('NOPERM our user may not run ' .. command[1] .. ' on '
            .. command[2])
        end
      end
    end

    """
}
