import Keyspace
import Redis

/// The Lua behind follows and rewrites: on a streamer's hash alone, because each shard has another
/// hash tag.
enum AudienceScripts {
  static let confirm = RedisScript(confirmBody)
  static let reserve = RedisScript(KeyTypeScript.wrong + reserveBody)
  static let announce = RedisScript(retiring + announceBody)
  static let forget = RedisScript(forgetBody)
  static let flip = RedisScript(retiring + flipBody)
  static let abandon = RedisScript(retiring + abandonBody)

  /// Notes that nobody will read a generation any more. KEYS: the hash.
  private static let retiring = """
    local function retire(known, generation, shards)
      local retired = (known and known .. ' ' or '') .. generation .. ':' .. shards
      redis.call('HSET', KEYS[1], 'retired', retired)
      return retired
    end

    """

  /// Says whether the hash is still what it was when the shards were chosen, and counts. KEYS: the
  /// hash. ARGV: shards, generation, next as the caller read them, how many came or (less than 0)
  /// went, and 1 when a hash is made where there is none: for a follow. Answers 1, or 0 when it has
  /// changed.
  private static let confirmBody = """
    local known = redis.call('HMGET', KEYS[1], 'shards', 'generation', 'next', 'erasing')
    if (known[1] or '') ~= ARGV[1] or (known[2] or '') ~= ARGV[2]
        or (known[3] or '') ~= ARGV[3] then
      return 0
    end
    if not known[1] then
      if ARGV[5] ~= '1' then return 1 end
      redis.call('HSET', KEYS[1], 'shards', '1', 'generation', '0', 'followers', '0')
    end
    if ARGV[4] ~= '0' then redis.call('HINCRBY', KEYS[1], 'followers', ARGV[4]) end
    -- An erasure that has looked for followers before this one must look again.
    if ARGV[5] == '1' and known[4] then redis.call('HDEL', KEYS[1], 'erasing') end
    return 1
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

  /// Announces a rewrite: from now on follows and unfollows go to both generations. Whoever was
  /// announced before can no longer finish, so nobody will ever read its shards. KEYS: the hash.
  /// ARGV: shards and generation as the caller read them, next as it shall be. Answers {done, next
  /// as it was, all that is retired}.
  private static let announceBody = """
    local known = redis.call('HMGET', KEYS[1], 'shards', 'generation', 'next', 'retired')
    if (known[1] or '') ~= ARGV[1] or (known[2] or '') ~= ARGV[2] then return {'moved'} end
    local retired = known[4] or ''
    local old, old_shards = string.match(known[3] or '', '^(%d+):(%d+)$')
    if old then retired = retire(known[4], old, old_shards) end
    redis.call('HSET', KEYS[1], 'next', ARGV[3])
    return {'done', known[3] or '', retired}
    """

  /// What was retired is removed, and is not to be looked at again, but for what was retired last:
  /// somebody may be writing to it still. KEYS: the hash. ARGV: next as the caller announced it,
  /// what is kept.
  private static let forgetBody = """
    if redis.call('HGET', KEYS[1], 'next') ~= ARGV[1] then return 0 end
    redis.call('HDEL', KEYS[1], 'retired')
    if ARGV[2] ~= '' then redis.call('HSET', KEYS[1], 'retired', ARGV[2]) end
    return 1
    """

  /// Makes the written generation the current one. KEYS: the hash. ARGV: generation, shards, how
  /// many followers it must have, and has. Answers {done, followers, old generation, old shards},
  /// {few}, or {superseded}.
  private static let flipBody = """
    local known = redis.call('HMGET', KEYS[1], 'generation', 'shards', 'next', 'retired')
    -- Done already, and the answer was lost.
    if known[1] == ARGV[1] and known[2] == ARGV[2] then
      return {'done', redis.call('HGET', KEYS[1], 'followers') or '0', '', ''}
    end
    if known[3] ~= ARGV[1] .. ':' .. ARGV[2] then return {'superseded'} end
    if tonumber(ARGV[4]) < tonumber(ARGV[3]) then return {'few'} end
    redis.call('HSET', KEYS[1], 'generation', ARGV[1], 'shards', ARGV[2], 'followers', ARGV[4])
    redis.call('HDEL', KEYS[1], 'next')
    -- Without a hash, a follow that broke off may have left the shard of the first generation.
    local old, shards = known[1] or '0', known[2] or '1'
    retire(known[4], old, shards)
    return {'done', ARGV[4], old, shards}
    """

  /// KEYS: the hash. ARGV: generation, shards. Takes the announcement back if it still is ours.
  /// Answers `current` when the generation is what fan-outs read: then nothing of it may go.
  private static let abandonBody = """
    local known = redis.call('HMGET', KEYS[1], 'generation', 'next', 'retired')
    if known[1] == ARGV[1] then return {'current'} end
    if known[2] == ARGV[1] .. ':' .. ARGV[2] then
      redis.call('HDEL', KEYS[1], 'next')
      retire(known[3], ARGV[1], ARGV[2])
    end
    return {'done'}
    """
}
