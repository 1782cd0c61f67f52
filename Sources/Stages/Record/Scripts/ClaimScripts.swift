import Redis

/// The Lua that decides who works on a segment. Time is Redis' own, so that workers whose clocks
/// differ agree on the end of a claim.
///
/// A claim stands in the hash of claims as `<owner> <end>`, the end in ms since 1970.
enum ClaimScripts {
  private static let farthestEnd = Claim.longestLifetime + .seconds(10)

  static let claim = RedisScript(RecordScripts.permissions + clock + rules + claimBody)
  static let renew = RedisScript(clock + renewBody)
  static let release = RedisScript(releaseBody)
  static let drop = RedisScript(dropBody)
  /// KEYS: settled. ARGV: what it lives, in seconds. Writes, so that replicas can be waited for.
  static let keepSettled = RedisScript("return redis.call('EXPIRE', KEYS[1], ARGV[1])")

  /// An end that is further off than any lifetime leads is none of a claim: Redis' clock was ahead
  /// when it was written, and was set back. A replica that was promoted may be a little behind.
  static let clock = """
    local time = redis.call('TIME')
    local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
    local function whole(number) return string.format('%.0f', number) end
    local function read(claim)
      local owner, ends = string.match(claim, '^(.*) (%d+)$')
      ends = tonumber(ends) or 0
      local farthest = now + \(RecordStage.milliseconds(farthestEnd))
      if ends > farthest then ends = 0 end
      return owner, ends
    end

    """

  /// Who may work on a segment, behind the clock: `claim` answers {what it is, now, when another's
  /// claim ends or what stops the fan-out, and, with `yours`, whose claim on it had ended or
  /// nothing, and `released` where that owner had released it}. `lifetime` in ms, `keep` what the
  /// key lives in seconds, `parent` the segment that the stragglers left or nothing. A paused
  /// fan-out's segment is nobody's, unless its event is `over` and needs no more than its outcomes.
  static let rules = """
    local function may_not_claim(event, settled, claims, stragglers)
      return forbidden({{'HGET', event, 'f'}, {'EXPIRE', event, '1'},
        {'EXPIRE', settled, '1'}, {'EXPIRE', stragglers, '1'},
        {'SISMEMBER', settled, 'm'}, {'SISMEMBER', stragglers, 'm'},
        {'HGET', claims, 'f'}, {'HSET', claims, 'f', 'v'}, {'HDEL', claims, 'f'},
        {'EXPIRE', claims, '1'}})
    end

    local function claim(event, settled, claims, stragglers, segment, owner, lifetime, keep,
        over, parent)
      if redis.call('SISMEMBER', settled, segment) == 1 then
        return {'settled', whole(now), '0'}
      end
      if parent ~= '' and redis.call('SISMEMBER', stragglers, segment) == 0 then
        if redis.call('SISMEMBER', settled, parent) == 1
            or redis.call('HGET', claims, segment) == 'dropped' then
          return {'orphaned', whole(now), '0'}
        end
        return {'unplanned', whole(now), '0'}
      end
      local held, former, how = redis.call('HGET', claims, segment), '', ''
      if held then
        local other, ends = read(held)
        if other ~= owner then
          if ends > now then return {'claimed', whole(now), whole(ends)} end
          former = other or ''
          if string.match(held, ' 0$') then how = 'released' end
        end
      end
      local brake = redis.call('HGET', event, 'brake') or ''
      if brake == 'paused' and over == '' then
        -- It must not be forgotten that it is.
        for _, key in ipairs({event, settled, stragglers}) do redis.call('EXPIRE', key, keep) end
        return {'paused', whole(now), '0'}
      end
      redis.call('HSET', claims, segment, owner .. ' ' .. whole(now + tonumber(lifetime)))
      redis.call('EXPIRE', claims, keep)
      return {'yours', whole(now), brake, former, how}
    end

    """

  /// KEYS: event, settled segments, claims, planned segments of stragglers. ARGV: segment, owner,
  /// ms that a claim lives, seconds that the key lives, whether the event is over, the segment that
  /// the stragglers left or nothing.
  private static let claimBody = """
    local problem = may_not_claim(unpack(KEYS))
    if problem then return problem end
    return claim(KEYS[1], KEYS[2], KEYS[3], KEYS[4], unpack(ARGV))
    """

  /// KEYS: settled segments, claims. ARGV: ms that a claim lives, seconds that the key lives, then
  /// segment and owner of each claim. Answers what `Renewal` says for each.
  private static let renewBody = """
    local settled, claims, answer = KEYS[1], KEYS[2], {}
    for i = 3, #ARGV, 2 do
      local segment, owner, found = ARGV[i], ARGV[i + 1], 'another'
      local is_done = redis.call('SISMEMBER', settled, segment) == 1
      local held = redis.call('HGET', claims, segment)
      if is_done then found = 'settled'
      elseif not held or read(held) == owner then
        found = 'held'
        redis.call('HSET', claims, segment, owner .. ' ' .. whole(now + tonumber(ARGV[1])))
      end
      answer[#answer + 1] = found
    end
    redis.call('EXPIRE', claims, ARGV[2])
    return answer
    """

  /// KEYS: claims. ARGV: seconds that the key lives, then ids of segments of stragglers that nobody
  /// will plan.
  private static let dropBody = """
    for i = 2, #ARGV do redis.call('HSET', KEYS[1], ARGV[i], 'dropped') end
    redis.call('EXPIRE', KEYS[1], ARGV[1])
    return 1
    """

  /// KEYS: claims. ARGV: segment, owner, `sent` or nothing. Answers 1 when the claim was the
  /// owner's. What may have been sent stays under the owner's name, as a claim that ended in 1970.
  private static let releaseBody = """
    local held = redis.call('HGET', KEYS[1], ARGV[1])
    if held and string.match(held, '^(.*) %d+$') == ARGV[2] then
      if ARGV[3] ~= 'sent' then return redis.call('HDEL', KEYS[1], ARGV[1]) end
      redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' 0')
      return 1
    end
    return 0
    """
}
