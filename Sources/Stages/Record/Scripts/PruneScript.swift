import Keyspace
import Model
import Redis
import Tokens

/// The Lua that takes tokens out of Redis of which Apple says that they are gone or unusable. A
/// user and a token have hash tags of their own, and so a script each.
enum PruneScript {
  static let prune = RedisScript(TokenScripts.tokenOf + TokenScripts.holding + pruneBody)
  static let count = RedisScript(
    RecordScripts.permissions + RecordScripts.prelude + counting + countBody)

  /// On so many days Apple must have said it before a device goes of which nothing shows whether it
  /// was bound later.
  static let undatedDays = 3
  /// Somewhat less than a day, so that events at the same hour of each day count.
  private static let undatedInterval = 20 * 3_600_000

  /// KEYS: bindings, bound, quarantined, verdicts and undated of a user. ARGV: what names the
  /// segment, seconds that the verdicts live, now in ms, then kind, Apple's timestamp, reason, and
  /// member of each verdict. Answers for each 0: nothing to do; 1: refused; 2: taken out; 3: taken
  /// out, and the user has the token no more; 4: quarantined; 5: kept, since nothing shows which is
  /// younger; then how many commands failed.
  ///
  /// A binding is taken out once. Who did not hear the answer gets the same again, from what stands
  /// in the verdicts. A binding without a time may go. One whose time cannot be read or is
  /// impossible, and any where Apple's timestamp is, stays: it is quarantined when Apple has said
  /// the same on several days. What is taken out is kept for some days, so that it can be restored.
  private static let pruneBody = """
    local bindings, bound, quarantined, verdicts, undated = unpack(KEYS)
    local now, lifetime = tonumber(ARGV[3]), \(Keyspace.prunedLifetimeSeconds)
    local interval = \(undatedInterval)
    \(RecordScripts.trying)
    local function time(text)
      local value = tonumber(text or '')
      if value and value >= \(BindingTime.earliest)
          and value <= now + \(BindingTime.tolerance) then
        return value
      end
    end

    -- Has no end while anything in it was quarantined. Of what was pruned the oldest makes room.
    local function keep(member, reason, kind, bound_at)
      local fields, count, oldest, oldest_at = try('HGETALL', quarantined) or {}, 0, nil, math.huge
      local has_others = kind == 'quarantined'
      for i = 1, #fields, 2 do
        local at = tonumber(string.match(fields[i + 1], ' (%d+) pruned ') or '')
        if not at then
          has_others = true
        elseif now - at > lifetime * 1000 then
          try('HDEL', quarantined, fields[i])
        else
          count = count + 1
          if at < oldest_at then oldest, oldest_at = fields[i], at end
        end
      end
      if kind == 'pruned' and count >= \(Keyspace.prunedMaximum) then
        try('HDEL', quarantined, oldest)
      end
      if not bound_at or string.find(bound_at, ' ', 1, true) then bound_at = '-' end
      try('HSET', quarantined, member,
        reason .. ' ' .. ARGV[3] .. ' ' .. kind .. ' ' .. bound_at)
      if has_others then
        -- Who may not do this loses it only where something was pruned, too.
        redis.pcall('PERSIST', quarantined)
      else
        try('EXPIRE', quarantined, lifetime)
      end
    end

    local function note(member, word)
      try('HSET', verdicts, member, word .. ' ' .. ARGV[1])
      try('EXPIRE', verdicts, ARGV[2])
    end

    local function quarantine(member, reason, word)
      if try('SREM', bindings, member) ~= 1 then return 0 end
      keep(member, reason, 'quarantined', try('HGET', bound, member))
      try('HDEL', bound, member)
      note(member, word)
      return 4
    end

    -- What was bound again since the first of these answers begins again.
    local function doubt(member, reason, bound_at)
      if try('SISMEMBER', bindings, member) ~= 1 then return 0 end
      local known = try('HGET', undated, member) or ''
      local days, first, last = string.match(known, '^(%d+) (%d+) (%d+)$')
      days, first, last = tonumber(days), tonumber(first), tonumber(last)
      if not days or bound_at and bound_at > first then days, first, last = 0, now, 0 end
      if now - last >= interval then days, last = days + 1, now end
      if days >= \(undatedDays) then
        try('HDEL', undated, member)
        return quarantine(member, reason, 'undated-quarantined')
      end
      try('HSET', undated, member, string.format('%.0f %.0f %.0f', days, first, last))
      try('EXPIRE', undated, \(Keyspace.undatedLifetimeSeconds))
      note(member, 'undated')
      return 5
    end

    local function judge(kind, finding, reason, member)
      local known = try('HGET', verdicts, member)
      if kind ~= 'gone' then
        if known == kind .. ' ' .. ARGV[1] then return 4 end
        return quarantine(member, reason, kind)
      end
      if known == 'undated ' .. ARGV[1] then return 5 end
      if known == 'undated-quarantined ' .. ARGV[1] then return 4 end
      if known ~= 'gone ' .. ARGV[1] then
        local text = try('HGET', bound, member)
        if text == nil then return 1 end
        local bound_at, since = time(text), time(finding)
        if not since or text and not bound_at then return doubt(member, reason, bound_at) end
        if bound_at and bound_at > since then return 1 end
        if try('SREM', bindings, member) ~= 1 then return 0 end
        try('HDEL', bound, member)
        keep(member, reason, 'pruned', text)
        note(member, 'gone')
      end
      if has(bindings, token_of(member)) then return 2 end
      return 3
    end
    local answer = {}
    for i = 4, #ARGV, 4 do
      answer[#answer + 1] = judge(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
    end
    answer[#answer + 1] = failed
    return answer
    """

  /// Stands behind the prelude. A run says how many tokens it has taken out, and set aside, since
  /// it began: what is said again, or was said in part, counts once. What of it is counted stands
  /// in the event's sums until the segment is settled.
  static let counting = """
    local function count_verdicts(segment, owner, pruned, quarantined, is_last)
      local field = '.verdicts:' .. segment
      local known = try('HGET', sums, field)
      local of, before, aside = string.match(known or '', '^(.*) (%d+) (%d+)$')
      if of ~= owner then before, aside = '0', '0' end
      for _, counter in ipairs({{'pruned', pruned, before}, {'quarantined', quarantined, aside}}) do
        local more = tonumber(counter[2]) - tonumber(counter[3])
        if more > 0 then
          try('HINCRBY', event, counter[1], more)
          count(counter[1], more)
        end
      end
      if not is_last then
        try('HSET', sums, field, owner .. ' ' .. pruned .. ' ' .. quarantined)
      elseif known then
        try('HDEL', sums, field)
      end
    end

    """

  /// ARGV 6…9: segment, owner of its claim, tokens taken out and set aside so far.
  private static let countBody = """
    if redis.call('EXISTS', event) == 0 then create('running') end
    count_verdicts(ARGV[6], ARGV[7], ARGV[8], ARGV[9], false)
    keep()
    return {'counted'}
    """
}
