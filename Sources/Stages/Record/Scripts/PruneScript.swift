import Redis
import Tokens

/// The Lua that takes tokens out of Redis of which Apple says that they are gone or unusable. A
/// user and a token have hash tags of their own, and so a script each.
enum PruneScript {
  static let prune = RedisScript(TokenScripts.holding + pruneBody)
  static let count = RedisScript(
    RecordScripts.permissions + RecordScripts.prelude + counting + countBody)

  /// KEYS: bindings, bound, quarantined and verdicts of a user. ARGV: what names the segment,
  /// seconds that the last key lives, now in ms, then kind, Apple's timestamp or reason, and member
  /// of each verdict. Answers for each 0: nothing to do; 1: refused; 2: taken out; 3: taken out,
  /// and the user has the token no more; 4: set aside; then how many commands failed.
  ///
  /// A binding is taken out once. Who did not hear the answer gets the same again, from what stands
  /// in the verdicts. A binding without a time may go; one whose time cannot be read stays, because
  /// nothing proves that Apple's word is the younger.
  private static let pruneBody = """
    local bindings, bound, set_aside, verdicts = unpack(KEYS)
    \(RecordScripts.trying)
    local function judge(kind, finding, member)
      local word = kind .. ' ' .. ARGV[1]
      local is_repeated = try('HGET', verdicts, member) == word
      if kind == 'gone' and not is_repeated then
        local since = try('HGET', bound, member)
        local bound_at = since and (tonumber(since) or math.huge) or 0
        if since == nil or bound_at > tonumber(finding) then return 1 end
      end
      if not is_repeated then
        if try('SREM', bindings, member) ~= 1 then return 0 end
        try('HDEL', bound, member)
        if kind ~= 'gone' then try('HSET', set_aside, member, finding .. ' ' .. ARGV[3]) end
        try('HSET', verdicts, member, word)
        try('EXPIRE', verdicts, ARGV[2])
      end
      if kind ~= 'gone' then return 4 end
      if has(bindings, member) then return 2 end
      return 3
    end
    local answer = {}
    for i = 4, #ARGV, 3 do answer[#answer + 1] = judge(ARGV[i], ARGV[i + 1], ARGV[i + 2]) end
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
