import Redis

/// The Lua behind `DeviceRegistry` and `AudienceWriter`. All keys are declared; where a key
/// depends on a value in Redis (a token's owner, the shards of a streamer), the caller reads that
/// value first and the script answers `moved` when it has changed since. No script writes before
/// it has checked every type.
enum DeviceScripts {
  static let bind = RedisScript(prelude + bindFunctions + bindBody)
  static let unbind = RedisScript(prelude + bindFunctions + unbindBody)
  static let replace = RedisScript(prelude + bindFunctions + replaceBody)
  static let follow = RedisScript(prelude + followBody)
  static let begin = RedisScript(prelude + beginBody)
  static let flip = RedisScript(prelude + flipBody)
  static let abandon = RedisScript(abandonBody)
  static let copy = RedisScript(copyBody)

  private static let prelude = """
    local function wrong(key, wanted)
      local kind = redis.call('TYPE', key)['ok']
      if kind ~= wanted and kind ~= 'none' then
        -- A device token must not get into an error, which may be logged.
        if string.find(key, '{t:', 1, true) then key = 'the key of a token' end
        return redis.error_reply('WRONGTYPE ' .. key .. ' is a ' .. kind .. ', not a ' .. wanted)
      end
    end

    """

  /// A user's three keys stand in a row: bindings, bound, quarantined.
  private static let bindFunctions = """
    local function wrong_user(key)
      return wrong(KEYS[key], 'set') or wrong(KEYS[key + 1], 'hash') or wrong(KEYS[key + 2], 'hash')
    end

    local function drop(key, member)
      redis.call('HDEL', KEYS[key + 1], member)
      redis.call('HDEL', KEYS[key + 2], member)
      return redis.call('SREM', KEYS[key], member)
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
    if KEYS[5] then drop(5, member) end
    redis.call('SET', KEYS[1], user)
    return {'done', take(2, member, at)}
    """

  /// KEYS: owner of the token, three of the user. ARGV: user, member.
  private static let unbindBody = """
    local problem = wrong(KEYS[1], 'string') or wrong_user(2)
    if problem then return problem end
    if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
    return {'done', drop(2, ARGV[2])}
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
    if redis.call('GET', KEYS[5]) == user then redis.call('DEL', KEYS[5]) end
    local removed = drop(2, old)
    if KEYS[6] then drop(6, member) end
    redis.call('SET', KEYS[1], user)
    take(2, member, at)
    return {'done', removed}
    """

  /// KEYS: the streamer's hash, the user's shard, and while a rewrite is under way the user's
  /// shard in the coming generation. ARGV: SADD or SREM, user, shards, generation, next as the
  /// caller read them.
  private static let followBody = """
    local problem = wrong(KEYS[1], 'hash') or wrong(KEYS[2], 'set')
      or (KEYS[3] and wrong(KEYS[3], 'set'))
    if problem then return problem end
    local known = redis.call('HMGET', KEYS[1], 'shards', 'generation', 'next')
    if (known[1] or '') ~= ARGV[3] or (known[2] or '') ~= ARGV[4]
        or (known[3] or '') ~= ARGV[5] then
      return {'moved', 0}
    end
    if not known[1] then
      if ARGV[1] == 'SREM' and not KEYS[3] then return {'done', 0} end
      redis.call('HSET', KEYS[1], 'shards', '1', 'generation', '0', 'followers', '0')
    end
    local changed = redis.call(ARGV[1], KEYS[2], ARGV[2])
    if KEYS[3] then redis.call(ARGV[1], KEYS[3], ARGV[2]) end
    if changed == 1 then
      redis.call('HINCRBY', KEYS[1], 'followers', ARGV[1] == 'SADD' and 1 or -1)
    end
    return {'done', changed}
    """

  /// Announces a rewrite: from now on follows and unfollows go to both generations. KEYS: the
  /// hash. ARGV: generation and next as the caller read them, next as it shall be.
  private static let beginBody = """
    local problem = wrong(KEYS[1], 'hash')
    if problem then return problem end
    local known = redis.call('HMGET', KEYS[1], 'generation', 'next')
    if (known[1] or '') ~= ARGV[1] or (known[2] or '') ~= ARGV[2] then return {'moved'} end
    redis.call('HSET', KEYS[1], 'next', ARGV[3])
    return {'done'}
    """

  /// Makes the written generation the current one. KEYS: the hash, all its shards. ARGV:
  /// generation, shards. Answers {done, followers, old generation, old shards}, or {superseded}.
  private static let flipBody = """
    local known = redis.call('HMGET', KEYS[1], 'generation', 'shards', 'next')
    if known[3] ~= ARGV[1] .. ':' .. ARGV[2] then return {'superseded'} end
    local followers = 0
    for i = 2, #KEYS do followers = followers + redis.call('SCARD', KEYS[i]) end
    followers = string.format('%.0f', followers)
    redis.call('HSET', KEYS[1], 'generation', ARGV[1], 'shards', ARGV[2], 'followers', followers)
    redis.call('HDEL', KEYS[1], 'next')
    return {'done', followers, known[1] or '', known[2] or ''}
    """

  /// KEYS: the hash. ARGV: generation, shards. Takes the announcement back if it still is ours.
  private static let abandonBody = """
    if redis.call('HGET', KEYS[1], 'next') ~= ARGV[1] .. ':' .. ARGV[2] then return 0 end
    return redis.call('HDEL', KEYS[1], 'next')
    """

  /// Copies followers who still follow, so that one who unfollows meanwhile does not come back.
  /// KEYS: the source, then the target of each user. ARGV: users.
  private static let copyBody = """
    local copied = 0
    for i, user in ipairs(ARGV) do
      if redis.call('SISMEMBER', KEYS[1], user) == 1 then
        copied = copied + redis.call('SADD', KEYS[i + 1], user)
      end
    end
    return copied
    """
}
