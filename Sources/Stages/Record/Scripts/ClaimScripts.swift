import Redis

/// The Lua that decides who works on a segment. Time is Redis' own, so that workers whose clocks
/// differ agree on the end of a claim.
///
/// A claim stands in the hash of claims as `<owner> <end>`, the end in ms since 1970. One that took
/// the place of another's keeps that in front, as `<claim> > <owner> <end>`, until the segment is
/// settled or the claim is released: an owner that did not hear whom it follows may ask again.
enum ClaimScripts {
  private static let farthestEnd = Claim.longestLifetime + .seconds(10)

  static let claim = RedisScript(RecordScripts.permissions + clock + rules + claimBody)
  static let renew = RedisScript(clock + renewBody)
  static let release = RedisScript(clock + releaseBody)
  static let drop = RedisScript(dropBody)
  /// KEYS: settled. ARGV: what it lives, in seconds. Writes, so that replicas can be waited for.
  static let keepSettled = RedisScript("return redis.call('EXPIRE', KEYS[1], ARGV[1])")

  /// An end that is further off than any lifetime leads is none of a claim: Redis' clock was ahead
  /// when it was written, and was set back. A replica that was promoted may be a little behind.
  static let clock = """
    local time = redis.call('TIME')
    local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
    local function whole(number) return string.format('%.0f', number) end
    -- Its owner, its end, and the claim whose place it took, or nothing.
    local function read(claim)
      local former, own = string.match(claim, '^(.*) > (.*)$')
      local owner, ends = string.match(own or claim, '^(.*) (%d+)$')
      ends = tonumber(ends) or 0
      local farthest = now + \(RecordStage.milliseconds(farthestEnd))
      if ends > farthest then ends = 0 end
      return owner, ends, former or ''
    end
    local function write(claims, segment, owner, lifetime, former)
      local own = owner .. ' ' .. whole(now + tonumber(lifetime))
      if former ~= '' then own = former .. ' > ' .. own end
      redis.call('HSET', claims, segment, own)
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
      local held, former = redis.call('HGET', claims, segment), ''
      if held then
        local other, ends, before = read(held)
        if other == owner then
          former = before
        else
          if ends > now then return {'claimed', whole(now), whole(ends)} end
          former = string.match(held, '^.* > (.*)$') or held
        end
      end
      local brake = redis.call('HGET', event, 'brake') or ''
      if brake == 'paused' and over == '' then
        -- It must not be forgotten that it is.
        for _, key in ipairs({event, settled, stragglers}) do redis.call('EXPIRE', key, keep) end
        return {'paused', whole(now), '0'}
      end
      write(claims, segment, owner, lifetime, former)
      redis.call('EXPIRE', claims, keep)
      return {'yours', whole(now), brake, read(former) or '',
        string.match(former, ' 0$') and 'released' or ''}
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
      local other, _, former = read(redis.call('HGET', claims, segment) or owner .. ' 0')
      if is_done then found = 'settled'
      elseif other == owner then
        found = 'held'
        write(claims, segment, owner, ARGV[1], former)
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
  /// owner's. What may have been sent stays under the owner's name, as a claim that ended in 1970;
  /// otherwise the claim whose place it took stands there again.
  private static let releaseBody = """
    local held = redis.call('HGET', KEYS[1], ARGV[1])
    if not held then return 0 end
    local owner, _, former = read(held)
    if owner ~= ARGV[2] then return 0 end
    if ARGV[3] == 'sent' then former = owner .. ' 0' end
    if former == '' then return redis.call('HDEL', KEYS[1], ARGV[1]) end
    redis.call('HSET', KEYS[1], ARGV[1], former)
    return 1
    """
}
