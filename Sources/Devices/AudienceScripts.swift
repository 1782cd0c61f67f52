import Redis

/// The Lua behind follows and rewrites. All keys are declared: where they depend on what the
/// heading says, the caller reads it first and the script answers `moved` when it has changed.
enum AudienceScripts {
  static let follow = RedisScript(DeviceScripts.prelude + followBody)
  static let reserve = RedisScript(DeviceScripts.prelude + reserveBody)
  static let announce = RedisScript(announceBody)
  static let flip = RedisScript(flipBody)
  static let abandon = RedisScript(abandonBody)
  static let copy = RedisScript(copyBody)

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

  /// Hands out the number of a generation, once. KEYS: the hash. ARGV: shards and generation as
  /// the caller read them, the largest number there is.
  private static let reserveBody = """
    local problem = wrong(KEYS[1], 'hash')
    if problem then return problem end
    local known = redis.call('HMGET', KEYS[1], 'shards', 'generation', 'next', 'last')
    if (known[1] or '') ~= ARGV[1] or (known[2] or '') ~= ARGV[2] then return {'moved'} end
    local next = string.match(known[3] or '', '^(%d+):') or ''
    local number = math.max(
      tonumber(known[2] or '') or 0, tonumber(next) or 0, tonumber(known[4] or '') or 0) + 1
    if number > tonumber(ARGV[3]) then return {'exhausted'} end
    number = string.format('%.0f', number)
    redis.call('HSET', KEYS[1], 'last', number)
    return {'done', number}
    """

  /// Announces a rewrite: from now on follows and unfollows go to both generations. KEYS: the
  /// hash. ARGV: shards and generation as the caller read them, next as it shall be. Answers {done,
  /// next as it was}.
  private static let announceBody = """
    local known = redis.call('HMGET', KEYS[1], 'shards', 'generation', 'next')
    if (known[1] or '') ~= ARGV[1] or (known[2] or '') ~= ARGV[2] then return {'moved'} end
    redis.call('HSET', KEYS[1], 'next', ARGV[3])
    return {'done', known[3] or ''}
    """

  /// Makes the written generation the current one. KEYS: the hash, all its shards. ARGV:
  /// generation, shards, how many followers it must have. Answers {done, followers, old generation,
  /// old shards}, {few}, or {superseded}.
  private static let flipBody = """
    local known = redis.call('HMGET', KEYS[1], 'generation', 'shards', 'next')
    local followers = 0
    -- Done already, and the answer was lost.
    if known[1] == ARGV[1] and known[2] == ARGV[2] then
      return {'done', redis.call('HGET', KEYS[1], 'followers') or '0', '', ''}
    end
    if known[3] ~= ARGV[1] .. ':' .. ARGV[2] then return {'superseded'} end
    for i = 2, #KEYS do followers = followers + redis.call('SCARD', KEYS[i]) end
    if followers < tonumber(ARGV[3]) then return {'few'} end
    followers = string.format('%.0f', followers)
    redis.call('HSET', KEYS[1], 'generation', ARGV[1], 'shards', ARGV[2], 'followers', followers)
    redis.call('HDEL', KEYS[1], 'next')
    return {'done', followers, known[1] or '', known[2] or ''}
    """

  /// KEYS: the hash. ARGV: generation, shards. Takes the announcement back if it still is ours.
  /// Answers `current` when the generation is what fan-outs read: then nothing of it may go.
  private static let abandonBody = """
    local known = redis.call('HMGET', KEYS[1], 'generation', 'next')
    if known[1] == ARGV[1] then return {'current'} end
    if known[2] == ARGV[1] .. ':' .. ARGV[2] then redis.call('HDEL', KEYS[1], 'next') end
    return {'done'}
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
