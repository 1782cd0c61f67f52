import Keyspace
import Model
import Redis
import Tokens

/// The Lua behind `TokenBinder` and profiles, on one user's keys alone. No script writes before it
/// has checked every type, nor one that takes a device out before it knows that it may do all of
/// it.
enum DeviceScripts {
  static let take = RedisScript(
    KeyTypeScript.wrong + TokenScripts.tokenOf + TokenScripts.userFunctions + late + takeBody)
  static let replace = RedisScript(
    KeyTypeScript.wrong + KeyTypeScript.forbidden + TokenScripts.tokenOf + TokenScripts.holding
      + TokenScripts.userFunctions + late + replaceBody)
  static let drop = RedisScript(
    KeyTypeScript.wrong + KeyTypeScript.forbidden + TokenScripts.tokenOf + TokenScripts.holding
      + TokenScripts.userFunctions + dropBody)
  static let restore = RedisScript(
    KeyTypeScript.wrong + KeyTypeScript.forbidden + TokenScripts.tokenOf
      + TokenScripts.userFunctions + late + restoreBody)

  static let profile = RedisScript(profileBody)
  static let lastBound = RedisScript(TokenScripts.tokenOf + clock + lastBoundBody)

  /// By Redis' clock. What is said to come from the future is no time.
  private static let clock = """
    local now = redis.call('TIME')[1] * 1000
    local latest = now + \(BindingTime.tolerance)

    """

  /// KEYS: bound of a user. ARGV: a token, how many devices are looked through. Answers when the
  /// token was bound last, nothing when it was not or that cannot be told, and `many` for a user
  /// with more devices than we write.
  private static let lastBoundBody = """
    if redis.call('HLEN', KEYS[1]) > tonumber(ARGV[2]) then return 'many' end
    local last = false
    local times = redis.call('HGETALL', KEYS[1])
    for i = 1, #times, 2 do
      local at = tonumber(times[i + 1])
      local is_possible = at and at >= \(BindingTime.earliest) and at <= latest
      if token_of(times[i]) == ARGV[1] and is_possible and (not last or at > last) then
        last = at
      end
    end
    return last and string.format('%.0f', last)
    """

  /// A reader sees all of it or nothing. KEYS: profile. ARGV: how many fields there may be, then
  /// name and value of each; one without a value is taken out. Answers 0, or how many there would
  /// be, which is refused unless there are fewer than before.
  private static let profileBody = """
    local before = redis.call('HLEN', KEYS[1])
    local count = before
    for i = 2, #ARGV, 2 do
      local is_there = redis.call('HEXISTS', KEYS[1], ARGV[i]) == 1
      if ARGV[i + 1] == '' and is_there then count = count - 1 end
      if ARGV[i + 1] ~= '' and not is_there then count = count + 1 end
    end
    if count > tonumber(ARGV[1]) and count > before then return count end
    for i = 2, #ARGV, 2 do
      if ARGV[i + 1] == '' then
        redis.call('HDEL', KEYS[1], ARGV[i])
      else
        redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
      end
    end
    return 0
    """

  /// A move that a later one has overtaken must change nothing any more. One of a token that was
  /// here not long ago is remembered, so that what takes it away comes too late.
  private static let late =
    clock + """
      local function is_late(member, number, is_returning)
        local token = token_of(member)
        local last = moved_to(token)
        if last > tonumber(number) then return true end
        if last > 0 or is_returning == '1' then remember(token, number) end
        return false
      end

      -- A registration that arrives late must not make the binding look older than it is.
      local function is_news(text, at)
        local known = tonumber(text or '')
        return not known or known < tonumber(at) or known > latest and tonumber(at) <= latest
      end

      local function wrong_user()
        return wrong(KEYS[1], 'set') or wrong(KEYS[2], 'hash') or wrong(KEYS[3], 'hash')
          or wrong(KEYS[4], 'zset')
      end

      """

  /// KEYS of all of them: bindings, bound, quarantined and moves of a user.
  ///
  /// ARGV: at ms, then member, number of the move, and 1 when the user was to leave the token, of
  /// each device. Answers how many bindings are new, then the positions, from 1, of those that came
  /// too late.
  private static let takeBody = """
    local problem = wrong_user()
    if problem then return problem end
    local at, answer, members, set = ARGV[1], {0}, {}, {KEYS[2]}
    for i = 2, #ARGV, 3 do
      if is_late(ARGV[i], ARGV[i + 1], ARGV[i + 2]) then
        answer[#answer + 1] = (i + 1) / 3
      else
        members[#members + 1] = ARGV[i]
      end
    end
    if #members == 0 then return answer end
    local times = redis.call('HMGET', KEYS[2], unpack(members))
    for i, member in ipairs(members) do
      if is_news(times[i], at) then set[#set + 1], set[#set + 2] = member, at end
    end
    if #set > 1 then redis.call('HSET', unpack(set)) end
    redis.call('HDEL', KEYS[3], unpack(members))
    answer[1] = redis.call('SADD', KEYS[1], unpack(members))
    return answer
    """

  /// One device in the place of another. ARGV: at ms, new member, number of its move, 1 when the
  /// user was to leave its token, old member. Answers {late}, or whether the old one was there, and
  /// whether the user still has its token.
  private static let replaceBody = """
    local problem = wrong_user() or may_not_drop() or forbidden({
      {'HGET', KEYS[2], 'a'}, {'HSET', KEYS[2], 'a', '1'}, {'SADD', KEYS[1], 'a'}})
    if problem then return problem end
    local at, member, old = ARGV[1], ARGV[2], ARGV[5]
    if is_late(member, ARGV[3], ARGV[4]) then return {'late'} end
    local removed = drop(old)
    if is_news(redis.call('HGET', KEYS[2], member), at) then
      redis.call('HSET', KEYS[2], member, at)
    end
    redis.call('HDEL', KEYS[3], member)
    redis.call('SADD', KEYS[1], member)
    return {removed, has(KEYS[1], token_of(old)) and 1 or 0}
    """

  /// A token of one destination and topic, or of any. ARGV: token, what members of the destination
  /// begin with or nothing, topic or nothing. Answers how many bindings there were, and whether the
  /// user still has the token.
  private static let dropBody = """
    local problem = wrong(KEYS[1], 'set') or wrong(KEYS[2], 'hash') or wrong(KEYS[3], 'hash')
      or may_not_drop()
    if problem then return problem end
    local removed = 0
    for place, command in ipairs({'SMEMBERS', 'HKEYS', 'HKEYS'}) do
      for _, member in ipairs(redis.call(command, KEYS[place])) do
        local topic = string.match(member, '^[^:]*:[^:]*:([^:]*):')
        if token_of(member) == ARGV[1]
            and string.sub(member, 1, #ARGV[2]) == ARGV[2]
            and (ARGV[3] == '' or ARGV[3] == topic) then
          removed = removed + drop(member)
        end
      end
    end
    return {removed, has(KEYS[1], ARGV[1]) and 1 or 0}
    """

  /// Gives back what was quarantined or pruned. The time of the binding is what it was, so that a
  /// younger 410 takes it out again; where none is known, any does. Nobody notes for longer than
  /// `prunedLifetimeSeconds` who has bound a pruned token since. ARGV: member, number of the
  /// move, 1 when the user was to leave the token, the value that stands beside it, and the time of
  /// its binding or nothing.
  private static let restoreBody = """
    local problem = wrong_user() or forbidden({
      {'HDEL', KEYS[3], 'a'}, {'HSETNX', KEYS[2], 'a', '1'}, {'SADD', KEYS[1], 'a'}})
    if problem then return problem end
    if redis.call('HGET', KEYS[3], ARGV[1]) ~= ARGV[4] then return 'changed' end
    local pruned_at = tonumber(string.match(ARGV[4], ' (%d+) pruned ') or '')
    if pruned_at and pruned_at < now - \(Keyspace.prunedLifetimeSeconds) * 1000 then
      return 'changed'
    end
    if is_late(ARGV[1], ARGV[2], ARGV[3]) then return 'late' end
    redis.call('HDEL', KEYS[3], ARGV[1])
    if ARGV[5] ~= '' then redis.call('HSETNX', KEYS[2], ARGV[1], ARGV[5]) end
    redis.call('SADD', KEYS[1], ARGV[1])
    return 'done'
    """
}
