import Keyspace
import Redis

/// The Lua that moves tokens between users: see `TokenMoves` for the steps. A token and a user have
/// hash tags of their own, and so scripts of their own.
package enum TokenScripts {
  static let claim = RedisScript(KeyTypeScript.wrong + moving + claimBody)
  static let release = RedisScript(moving + releaseBody)
  static let settle = RedisScript(moving + settleBody)
  static let leave = RedisScript(
    KeyTypeScript.wrong + KeyTypeScript.forbidden + tokenOf + userFunctions + leaveBody)
  static let look = RedisScript(tokenOf + holding + userFunctions + lookBody)

  /// The fourth field of a member, the rest of the text: tokens may hold colons. As
  /// `Binding.token(ofMember:)`.
  package static let tokenOf = """
    local function token_of(member)
      return string.match(member, '^[^:]*:[^:]*:[^:]*:(.*)$') or member
    end

    """

  /// Whether the user has the token in any app or environment: then it stays theirs. With more
  /// devices than anybody has that is taken for granted. Needs `tokenOf`.
  package static let holding = """
    local function has(bindings, token)
      local number = redis.pcall('SCARD', bindings)
      if type(number) ~= 'number' then return false end
      if number > 1000 then return true end
      for _, member in ipairs(redis.call('SMEMBERS', bindings)) do
        if token_of(member) == token then return true end
      end
      return false
    end

    """

  /// KEYS: owner of a token, its moves.
  private static let moving = """
    -- Each move's number is larger than the last one's, whatever the clock says.
    local function next_number(last)
      local time = redis.call('TIME')
      local number = time[1] * 1000000 + time[2]
      return string.format('%.0f', math.max(number, (tonumber(last or '') or 0) + 1))
    end

    -- While somebody has to leave, the moves have no end.
    local function keep(number, leaving)
      -- Fails before anything is deleted where our user may not write.
      redis.call('HSET', KEYS[2], 'number', number)
      redis.call('DEL', KEYS[2])
      redis.call('HSET', KEYS[2], 'number', number)
      for _, user in ipairs(leaving) do redis.call('HSET', KEYS[2], ':' .. user, number) end
      if #leaving == 0 then
        redis.call('EXPIRE', KEYS[2], \(Keyspace.movesLifetimeSeconds))
      end
    end

    local function leaving_users(except)
      local users = {}
      for _, field in ipairs(redis.call('HKEYS', KEYS[2])) do
        if string.sub(field, 1, 1) == ':' and field ~= ':' .. except then
          users[#users + 1] = string.sub(field, 2)
        end
      end
      return users
    end

    """

  /// ARGV: user, and something when the token is not to be taken from another. Answers {another},
  /// or the number of the move and who has to leave, which may be the user too, who had it before.
  private static let claimBody = """
    local user, owner = ARGV[1], redis.pcall('GET', KEYS[1])
    if type(owner) == 'table' then return wrong(KEYS[1], 'string') end
    local last = redis.pcall('HGET', KEYS[2], 'number')
    if type(last) == 'table' then return wrong(KEYS[2], 'hash') end
    local is_anothers = owner and owner ~= '' and owner ~= user
    if is_anothers and ARGV[2] then return {'another'} end
    local number = next_number(last)
    local answer = {number}
    -- A token that nobody else had of late leaves no trace.
    if is_anothers or last then
      local leaving = leaving_users(is_anothers and owner or '')
      if is_anothers then leaving[#leaving + 1] = owner end
      keep(number, leaving)
      for _, each in ipairs(leaving) do answer[#answer + 1] = each end
    end
    if owner ~= user then redis.call('SET', KEYS[1], user) end
    return answer
    """

  /// ARGV: user, who has the token no more. Nobody owns it then, until it is known that the user
  /// has not bound it again. Answers nothing when it is another's, {wrong} when a key of the token
  /// is something else, else the number of the move and who has to leave besides.
  private static let releaseBody = """
    local user, owner = ARGV[1], redis.pcall('GET', KEYS[1])
    local last = redis.pcall('HGET', KEYS[2], 'number')
    if type(owner) == 'table' or type(last) == 'table' then return {'wrong'} end
    local is_free = not owner or owner == ''
    if owner ~= user and not (is_free and redis.call('HGET', KEYS[2], ':' .. user)) then
      return {}
    end
    local number, leaving = next_number(last), leaving_users(user)
    local answer = {number}
    for _, each in ipairs(leaving) do answer[#answer + 1] = each end
    leaving[#leaving + 1] = user
    keep(number, leaving)
    redis.call('DEL', KEYS[1])
    return answer
    """

  /// ARGV: number of the move, who owns the token after all or nothing, who may get it back, and
  /// for how many seconds. Nobody else has to leave any more, unless somebody else has put his name
  /// on the token, and sees to it.
  private static let settleBody = """
    if redis.call('HGET', KEYS[2], 'number') ~= ARGV[1] then return 0 end
    if ARGV[2] ~= '' and not redis.call('SET', KEYS[1], ARGV[2], 'NX') then return 0 end
    keep(ARGV[1], {ARGV[3]})
    if ARGV[3] then redis.call('EXPIRE', KEYS[2], ARGV[4]) end
    return 1
    """

  /// KEYS: bindings, bound, quarantined and moves of a user. What is older than the lifetime is
  /// taken out with each that is added, so that a user of whom many tokens go has no more.
  /// `may_not_drop` needs `KeyTypeScript.forbidden`.
  package static let userFunctions = """
    local function moved_to(token)
      local number = redis.pcall('ZSCORE', KEYS[4], token)
      return type(number) == 'string' and tonumber(number) or 0
    end

    -- A user whose key is something else loses a token all the same.
    local function remember(token, number)
      local kind = redis.call('TYPE', KEYS[4])['ok']
      if kind ~= 'zset' and kind ~= 'none' then return end
      local old = string.format('%.0f', number - \(Keyspace.movesLifetimeSeconds) * 1000000)
      redis.call('ZADD', KEYS[4], number, token)
      redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', old)
      redis.call('EXPIRE', KEYS[4], \(Keyspace.movesLifetimeSeconds))
    end

    -- Without one of these a device would be left half taken out.
    local function may_not_drop()
      return forbidden({
        {'SMEMBERS', KEYS[1]}, {'HKEYS', KEYS[2]}, {'HDEL', KEYS[2], 'a'}, {'SREM', KEYS[1], 'a'}})
    end

    local function drop(member)
      redis.pcall('HDEL', KEYS[2], member)
      redis.pcall('HDEL', KEYS[3], member)
      return redis.call('SREM', KEYS[1], member)
    end

    """

  /// Takes a token from the user in every app and environment, unless it has come back since.
  /// ARGV: token, number of the move.
  private static let leaveBody = """
    local problem = wrong(KEYS[1], 'set') or may_not_drop()
    if problem then return problem end
    if moved_to(ARGV[1]) > tonumber(ARGV[2]) then return 0 end
    for place, command in ipairs({'SMEMBERS', 'HKEYS', 'HKEYS'}) do
      -- An error has no members.
      for _, member in ipairs(redis.pcall(command, KEYS[place])) do
        if token_of(member) == ARGV[1] then drop(member) end
      end
    end
    remember(ARGV[1], ARGV[2])
    return 1
    """

  /// Answers 1 when the user has the token after all; else what was begun before the move cannot
  /// bring it any more. ARGV: token, number of the move.
  private static let lookBody = """
    if has(KEYS[1], ARGV[1]) then return 1 end
    if moved_to(ARGV[1]) < tonumber(ARGV[2]) then remember(ARGV[1], ARGV[2]) end
    return 0
    """
}
