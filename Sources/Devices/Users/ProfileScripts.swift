import Redis
import Rules

/// The Lua on a user's profile.
enum ProfileScripts {
  static let maximumListBytes = RecipientJudge.maximumListBytes

  static let mute = RedisScript(muteBody)

  /// KEYS: profile. ARGV: the field, 1 to mute and 0 to hear again, how many bytes it may have, the
  /// streamers. Answers how many were not so before, -1 when there is no room for them.
  ///
  /// No id holds a line feed, so that each line is one.
  private static let muteBody = """
    local list = redis.call('HGET', KEYS[1], ARGV[1]) or ''
    local lines, wanted, changed = {}, {}, 0
    for i = 4, #ARGV do wanted[ARGV[i]] = true end
    for line in string.gmatch(list, '[^\\n]+') do
      if not wanted[line] then
        lines[#lines + 1] = line
      elseif ARGV[2] == '0' then
        changed = changed + 1
      elseif wanted[line] ~= 'there' then
        lines[#lines + 1] = line
        wanted[line] = 'there'
      end
    end
    if ARGV[2] == '1' then
      for i = 4, #ARGV do
        if wanted[ARGV[i]] ~= 'there' then
          lines[#lines + 1] = ARGV[i]
          wanted[ARGV[i]] = 'there'
          changed = changed + 1
        end
      end
    end
    if changed == 0 then return 0 end
    list = table.concat(lines, '\\n')
    if ARGV[2] == '1' and #list > tonumber(ARGV[3]) then return -1 end
    if list == '' then
      redis.call('HDEL', KEYS[1], ARGV[1])
    else
      redis.call('HSET', KEYS[1], ARGV[1], list)
    end
    return changed
    """
}
