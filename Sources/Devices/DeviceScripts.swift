import Redis

/// The Lua behind `DeviceRegistry` and `AudienceWriter`: devices. All keys are declared; where a
/// key depends on a value in Redis (a token's owner), the caller reads that value first and the
/// script answers `moved` when it has changed since. No script writes before it has checked every
/// type.
enum DeviceScripts {
  static let bind = RedisScript(prelude + bindFunctions + bindBody)
  static let bindAll = RedisScript(prelude + bindFunctions + bindAllBody)
  static let restore = RedisScript(prelude + bindFunctions + restoreBody)
  static let unbind = RedisScript(prelude + bindFunctions + unbindBody)
  static let replace = RedisScript(prelude + bindFunctions + replaceBody)

  static let prelude = """
    local function wrong(key, wanted)
      local kind = redis.call('TYPE', key)['ok']
      if kind ~= wanted and kind ~= 'none' then
        -- A device token must not get into an error, which may be logged.
        if string.find(key, '{t:', 1, true) then key = 'the key of a token' end
        return redis.error_reply('WRONGTYPE ' .. key .. ' is a ' .. kind .. ', not a ' .. wanted)
      end
    end

    """

  /// A user's three keys come one after the other: bindings, bound, quarantined.
  private static let bindFunctions = """
    local function wrong_user(key)
      return wrong(KEYS[key], 'set') or wrong(KEYS[key + 1], 'hash') or wrong(KEYS[key + 2], 'hash')
    end

    local function drop(key, member)
      redis.call('HDEL', KEYS[key + 1], member)
      redis.call('HDEL', KEYS[key + 2], member)
      return redis.call('SREM', KEYS[key], member)
    end

    -- Whoever has the token in another app or environment still owns it.
    local function leave(owner, user, key, member)
      local removed = drop(key, member)
      local ending = string.match(member, ':%x+$')
      for _, has in ipairs(redis.call('SMEMBERS', KEYS[key])) do
        if string.sub(has, -#ending) == ending then return removed end
      end
      if redis.call('GET', KEYS[owner]) == user then redis.call('DEL', KEYS[owner]) end
      return removed
    end

    -- Whoever had the token has it in no app and no environment any more.
    local function drop_token(key, member)
      local ending = string.match(member, ':%x+$')
      for place, command in ipairs({'SMEMBERS', 'HKEYS', 'HKEYS'}) do
        for _, had in ipairs(redis.call(command, KEYS[key + place - 1])) do
          if string.sub(had, -#ending) == ending then drop(key, had) end
        end
      end
    end

    -- A registration that arrives late must not make the binding look older than it is.
    local function take(key, member, at)
      local known = tonumber(redis.call('HGET', KEYS[key + 1], member) or '')
      if not known or known < tonumber(at) then redis.call('HSET', KEYS[key + 1], member, at) end
      redis.call('HDEL', KEYS[key + 2], member)
      return redis.call('SADD', KEYS[key], member)
    end

    """

  /// KEYS: owner of the token, three of the user, then three of the owner so far when that is
  /// another. ARGV: user, member, at ms, the owner so far or nothing.
  private static let bindBody = """
    local problem = wrong(KEYS[1], 'string') or wrong_user(2) or (KEYS[5] and wrong_user(5))
    if problem then return problem end
    local user, member, at, expected = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
    local owner = redis.call('GET', KEYS[1]) or ''
    if owner ~= expected then return {'moved', owner} end
    if KEYS[5] then drop_token(5, member) end
    redis.call('SET', KEYS[1], user)
    return {'done', take(2, member, at)}
    """

  /// KEYS: owner of the token, three of the user. ARGV: user, member.
  private static let unbindBody = """
    local problem = wrong(KEYS[1], 'string') or wrong_user(2)
    if problem then return problem end
    return {'done', leave(1, ARGV[1], 2, ARGV[2])}
    """

  /// KEYS: owner of the new token, three of the user, owner of the old token, then three of the
  /// new token's owner so far when that is another. ARGV: user, new member, at ms, the new token's
  /// owner so far or nothing, old member.
  private static let replaceBody = """
    local problem = wrong(KEYS[1], 'string') or wrong(KEYS[5], 'string') or wrong_user(2)
      or (KEYS[6] and wrong_user(6))
    if problem then return problem end
    local user, member, at, expected, old = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
    local owner = redis.call('GET', KEYS[1]) or ''
    if owner ~= expected then return {'moved', owner} end
    local removed = leave(5, user, 2, old)
    if KEYS[6] then drop_token(6, member) end
    redis.call('SET', KEYS[1], user)
    take(2, member, at)
    return {'done', removed}
    """

  /// Binds the devices of one user whose tokens belong to nobody else. KEYS: three of the user,
  /// then the owner of each token. ARGV: user, at ms, the member of each token. Answers the
  /// positions, from 1, of tokens that belong to others: nothing was written for those.
  private static let bindAllBody = """
    local problem = wrong(KEYS[1], 'set') or wrong(KEYS[3], 'hash')
    if problem then return problem end
    local foreign, members, tokens, set = {}, {}, {}, {KEYS[2]}
    for i = 4, #KEYS do
      local owner = redis.pcall('GET', KEYS[i])
      if type(owner) == 'table' then return wrong(KEYS[i], 'string') end
      if owner and owner ~= '' and owner ~= ARGV[1] then
        foreign[#foreign + 1] = i - 3
      else
        members[#members + 1] = ARGV[i - 1]
        tokens[#tokens + 1] = owner ~= ARGV[1] and KEYS[i]
      end
    end
    if #members == 0 then return foreign end
    local times = redis.pcall('HMGET', KEYS[2], unpack(members))
    if times.err then return wrong(KEYS[2], 'hash') end
    for i, member in ipairs(members) do
      -- An import that is older must not make the binding look older than it is.
      local known = tonumber(times[i] or '')
      if not known or known < tonumber(ARGV[2]) then
        set[#set + 1], set[#set + 2] = member, ARGV[2]
      end
      if tokens[i] then redis.call('SET', tokens[i], ARGV[1]) end
    end
    if #set > 1 then redis.call('HSET', unpack(set)) end
    redis.call('HDEL', KEYS[3], unpack(members))
    redis.call('SADD', KEYS[1], unpack(members))
    return foreign
    """

  /// Gives back what was set aside. The time of the binding stays what it is: where there is none,
  /// any later word of Apple's removes the token. KEYS: owner of the token, three of the user.
  /// ARGV: user, member, the value under which it was set aside.
  private static let restoreBody = """
    local problem = wrong(KEYS[1], 'string') or wrong_user(2)
    if problem then return problem end
    if redis.call('HGET', KEYS[4], ARGV[2]) ~= ARGV[3] then return {'moved'} end
    local owner = redis.call('GET', KEYS[1]) or ''
    if owner ~= '' and owner ~= ARGV[1] then return {'foreign'} end
    redis.call('SET', KEYS[1], ARGV[1])
    redis.call('HDEL', KEYS[4], ARGV[2])
    redis.call('SADD', KEYS[2], ARGV[2])
    return {'done'}
    """
}
