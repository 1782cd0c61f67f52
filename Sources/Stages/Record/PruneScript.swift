import Redis

/// The Lua that takes tokens out of Redis of which Apple says that they are gone or unusable.
enum PruneScript {
  static let prune = RedisScript(
    RecordScripts.permissions + RecordScripts.prelude + function + body)

  /// Per verdict four KEYS (bindings, bound, quarantined, owner of the token) and four ARGV (kind,
  /// Apple's timestamp or reason, user, member). A binding is taken out at most once, and only
  /// then it is counted, so running this again for the same verdicts changes nothing. A binding
  /// without a time may go; one whose time cannot be read stays, because nothing proves that
  /// Apple's word is the younger. What is refused is not counted here, since nothing marks it: the
  /// tally carries it to the script that settles, which counts once.
  static let function = """
    local pruned, refused, quarantined = 0, 0, 0

    -- Whether the user has the member's token in another app or environment: then it stays theirs.
    -- With more devices than anybody has that is taken for granted.
    local function has(bindings, member)
      if (try('SCARD', bindings) or 0) > 1000 then return true end
      local ending = string.match(member, ':[^:]*$') or member
      for _, other in ipairs(try('SMEMBERS', bindings) or {}) do
        if string.sub(other, -#ending) == ending then return true end
      end
      return false
    end

    local function prune(key, argument)
      while argument + 3 <= #ARGV do
        local bindings, bound, set_aside, owner =
          KEYS[key], KEYS[key + 1], KEYS[key + 2], KEYS[key + 3]
        local kind, finding, user, member =
          ARGV[argument], ARGV[argument + 1], ARGV[argument + 2], ARGV[argument + 3]
        if kind == 'gone' then
          local since = try('HGET', bound, member)
          local bound_at = since and (tonumber(since) or math.huge) or 0
          if since == nil or bound_at > tonumber(finding) then
            refused = refused + 1
          elseif try('SREM', bindings, member) == 1 then
            pruned = pruned + 1
            try('HDEL', bound, member)
            if try('GET', owner) == user and not has(bindings, member) then try('DEL', owner) end
          end
        elseif try('SREM', bindings, member) == 1 then
          quarantined = quarantined + 1
          try('HDEL', bound, member)
          try('HSET', set_aside, member, finding .. ' ' .. now)
        end
        key, argument = key + 4, argument + 4
      end
      for _, counter in ipairs({{'pruned', pruned}, {'quarantined', quarantined}}) do
        if counter[2] > 0 then
          try('HINCRBY', event, counter[1], counter[2])
          count(counter[1], counter[2])
        end
      end
    end

    """

  /// ARGV 6…: verdicts.
  private static let body = """
    if redis.call('EXISTS', event) == 0 then create('running') end
    prune(8, 6)
    keep()
    return {'pruned', pruned, refused, quarantined, failed}
    """
}
