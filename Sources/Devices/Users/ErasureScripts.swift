import Keyspace
import Redis

/// The Lua that forgets a user, on that user's keys alone. No script takes anything out before it
/// knows that it may do all that is to follow on these keys.
enum ErasureScripts {
  static let erase = RedisScript(KeyTypeScript.forbidden + eraseBody)
  static let drop = RedisScript(KeyTypeScript.forbidden + dropBody)
  static let finish = RedisScript(finishBody)
  static let markEmpty = RedisScript(markEmptyBody)
  static let removeEmpty = RedisScript(removeEmptyBody)

  /// KEYS: what goes, devices first. From here on nothing reaches the user. The members stay in
  /// `bound` until their tokens are free: who dies before that has left there which they are.
  /// Answers how many devices, devices set aside, fields of a profile, events and verdicts there
  /// were, then the members whose tokens are to be free. ARGV: as many devices go in one step; of
  /// more nothing goes, and the answer is empty.
  ///
  /// A key of another type stands under the user's name, and goes too.
  private static let eraseBody = """
    local bindings, bound, set_aside, profile, reached, verdicts, undated = unpack(KEYS)
    local problem = forbidden({
      {'SCARD', bindings}, {'SMEMBERS', bindings}, {'SISMEMBER', bindings, 'a'}, {'HLEN', bound},
      {'HKEYS', bound}, {'HSETNX', bound, 'a', '0'}, {'HDEL', bound, 'a'}, {'DEL', unpack(KEYS)}})
    if problem then return problem end
    for place, command in ipairs({'SCARD', 'HLEN', 'HLEN'}) do
      local number = redis.pcall(command, KEYS[place])
      if type(number) == 'number' and number > tonumber(ARGV[1]) then return {} end
    end
    local function count(command, key)
      local number = redis.pcall(command, key)
      return type(number) == 'number' and number or redis.call('EXISTS', key)
    end
    local answer = {
      count('SCARD', bindings), count('HLEN', set_aside), count('HLEN', profile),
      count('ZCARD', reached), count('HLEN', verdicts)}
    local kind = redis.call('TYPE', bound)['ok']
    if kind ~= 'hash' then redis.call('DEL', bound) end
    for place, command in ipairs({'SMEMBERS', 'HKEYS', 'HKEYS'}) do
      -- An error has no members.
      for _, member in ipairs(redis.pcall(command, KEYS[place])) do
        redis.call('HSETNX', bound, member, '0')
      end
    end
    redis.call('DEL', bindings, set_aside, profile, reached, verdicts, undated)
    for _, member in ipairs(redis.call('HKEYS', bound)) do answer[#answer + 1] = member end
    return answer
    """

  /// Takes devices from the user; their names stay in `bound` until their tokens are free. KEYS:
  /// bindings, bound, quarantined. ARGV: members. Answers how many were bound, and set aside.
  private static let dropBody = """
    local problem = forbidden({
      {'HSETNX', KEYS[2], 'a', '0'}, {'SREM', KEYS[1], 'a'}, {'HDEL', KEYS[3], 'a'}})
    if problem then return problem end
    local bound, set_aside = 0, 0
    for _, member in ipairs(ARGV) do
      redis.call('HSETNX', KEYS[2], member, '0')
      local removed = redis.pcall('SREM', KEYS[1], member)
      if type(removed) == 'number' then bound = bound + removed end
      removed = redis.pcall('HDEL', KEYS[3], member)
      if type(removed) == 'number' then set_aside = set_aside + removed end
    end
    return {bound, set_aside}
    """

  /// KEYS: bindings, bound. ARGV: members whose tokens are free. One that was bound again meanwhile
  /// keeps its time.
  private static let finishBody = """
    for _, member in ipairs(ARGV) do
      if redis.call('SISMEMBER', KEYS[1], member) == 0 then redis.call('HDEL', KEYS[2], member) end
    end
    return 1
    """

  /// Notes that an erasure looks now whether anybody follows in its generation. A follow that is
  /// confirmed after this takes the note away. KEYS: the hash. ARGV: shards, generation.
  private static let markEmptyBody = """
    local known = redis.call('HMGET', KEYS[1], 'shards', 'generation', 'next')
    if known[1] ~= ARGV[1] or known[2] ~= ARGV[2] or known[3] then return 0 end
    redis.call('HSET', KEYS[1], 'erasing', ARGV[2])
    return 1
    """

  /// Takes away the hash of an audience of nobody, unless anything has become of it since it was
  /// marked. Who begins to follow just then finds it gone, and makes another. KEYS: the hash. ARGV:
  /// shards, generation.
  private static let removeEmptyBody = """
    local known = redis.call(
      'HMGET', KEYS[1], 'shards', 'generation', 'next', 'followers', 'erasing')
    if known[1] ~= ARGV[1] or known[2] ~= ARGV[2] or known[3] or known[4] ~= '0'
        or known[5] ~= ARGV[2] then
      return 0
    end
    redis.call('DEL', KEYS[1])
    return 1
    """
}
