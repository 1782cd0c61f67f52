import Model
import Redis

/// The Lua that knows of segments that will never be settled, because their records are in the dead
/// letters or because Redis has lost what was noted of them, and with them when a fan-out has come
/// to its end.
enum DeadLetterScripts {
  static let note = RedisScript(
    RecordScripts.permissions + RecordScripts.prelude + conclusion + noteBody)
  static let count = RedisScript(countBody)
  static let published = RedisScript(
    RecordScripts.permissions + RecordScripts.prelude + conclusion + publishedBody)

  /// Stands behind the prelude.
  static let conclusion = """
    -- Segments that are in the dead letters, and those that were to be brought to Kafka by an event
    -- or a plan that is.
    local function lost()
      local number = redis.call('SCARD', dead)
      local planners =
        redis.call('SISMEMBER', dead, 'event') + redis.call('SISMEMBER', dead, 'plan')
      if planners > 0 then
        local plan = redis.call('HMGET', event, 'segments', 'published')
        local unpublished = (tonumber(plan[1]) or 0) - (tonumber(plan[2]) or 0)
        number = number - planners + math.max(unpublished, 0)
      end
      return number
    end

    local function note_lost()
      local number = lost()
      if number > 0 then
        redis.call('HSET', event, 'dead_lettered', number)
      else
        redis.call('HDEL', event, 'dead_lettered', 'dead_letter')
      end
    end

    local function reopen()
      redis.call('HSET', event, 'state', 'running')
      redis.call('HDEL', event, 'done_ms')
    end

    -- Redis has lost what was noted of the event, or which of its segments were settled.
    local function note_forgotten(before)
      local known = redis.call('HMGET', event, 'source', 'settled')
      if not known[1] or (tonumber(known[2]) or 0) > before then
        redis.call('HSETNX', event, 'forgotten_ms', now)
      end
    end

    -- Whether anybody has a claim on a segment of it.
    local function is_worked_on()
      local all = redis.call('HGETALL', claims)
      for i = 2, #all, 2 do
        if all[i] ~= 'dropped' then return true end
      end
      return false
    end

    local function outcomes()
      local all = {}
      for _, field in ipairs({'recipients', 'pushes', 'accepted', 'rejected', 'expired',
          'cancelled', 'suppressed', 'retried', 'stragglers', 'dead_lettered', 'forgotten_ms'}) do
        local value = redis.call('HGET', event, field)
        if value or field ~= 'dead_lettered' and field ~= 'forgotten_ms' then
          all[#all + 1] = field
          all[#all + 1] = value or '0'
        end
      end
      return all
    end

    -- 1: all is settled. 2, once: what is not is in the dead letters, or nobody works on what Redis
    -- has forgotten the rest of. 0: neither.
    local function conclude(segments)
      local state = redis.call('HGET', event, 'state')
      local planned = tonumber(redis.call('HGET', event, 'segments')) or tonumber(segments)
      planned = planned + redis.call('SCARD', stragglers)
      local number = redis.call('SCARD', settled)
      if number >= planned then
        if state ~= 'done' and state ~= 'expired' then finish('done') end
        return 1
      end
      local missing, known = lost(), redis.call('HMGET', event, 'forgotten_ms', 'waiting')
      local is_awaited = missing == 0 and (tonumber(known[2]) or 0) > 0
      local is_lost = missing > 0 and number + missing >= planned
      local is_over = known[1] and not is_awaited and not is_worked_on()
      if is_lost or is_over then
        if state ~= 'running' then return 0 end
        finish('incomplete')
        return 2
      end
      if state == 'incomplete' and (is_awaited or not known[1]) then reopen() end
      return 0
    end

    """

  /// ARGV 9…12: segment, `event` or `plan`, segments of the fan-out, the code of the reason, source
  /// of the event's record. Answers {what it did, whether the fan-out ended with it, its outcomes
  /// then}.
  private static let noteBody = """
    local segment, segments, code, source = ARGV[9], ARGV[10], ARGV[11], ARGV[12]
    local state = redis.call('HGET', event, 'state')
    if segment == 'event' or segment == 'plan' then
      if segment == 'event' and redis.call('HGET', event, 'source') ~= source
          or not state or state == 'done' or state == 'expired' then
        return {'nothing', 0, {}}
      end
    elseif redis.call('SISMEMBER', settled, segment) == 1
        or string.find(segment, '~', 1, true)
        and redis.call('SISMEMBER', stragglers, segment) == 0 then
      return {'nothing', 0, {}}
    end
    if redis.call('EXISTS', event) == 0 then create('running') end
    redis.call('HSETNX', event, 'state', 'running')
    redis.call('HSETNX', event, 'segments', segments)
    note_forgotten(redis.call('SCARD', settled))
    redis.call('SADD', dead, segment)
    redis.call('HSET', event, 'dead_letter', segment .. ' ' .. code)
    note_lost()
    local ended = conclude(segments) == 2
    keep()
    return {'noted', ended and 1 or 0, ended and outcomes() or {}}
    """

  /// ARGV 9: how many segments are in Kafka. Never goes back; a plan that was a dead letter and
  /// came again is one no longer.
  private static let publishedBody = """
    if redis.call('EXISTS', event) == 0 then return 0 end
    local known = tonumber(redis.call('HGET', event, 'published')) or 0
    if tonumber(ARGV[9]) > known then redis.call('HSET', event, 'published', ARGV[9]) end
    if redis.call('SREM', dead, 'plan') == 1 then
      note_lost()
      if redis.call('HGET', event, 'state') == 'incomplete' then reopen() end
    end
    return 1
    """

  /// KEYS: statistics of all time, of the day, of the minute, and the receipt of this call. ARGV:
  /// lifetimes in seconds of day, minute and receipt, then name and amount of each counter.
  private static let countBody = """
    if not redis.call('SET', KEYS[4], '1', 'NX', 'EX', ARGV[3]) then return 0 end
    for i = 4, #ARGV, 2 do
      for k = 1, 3 do redis.call('HINCRBY', KEYS[k], ARGV[i], ARGV[i + 1]) end
    end
    redis.call('EXPIRE', KEYS[2], ARGV[1])
    redis.call('EXPIRE', KEYS[3], ARGV[2])
    return 1
    """
}

extension RecordStage {
  /// Notes that no try will settle a part of a fan-out, since its record, which came from `source`,
  /// is in the dead letters.
  /// Safe to repeat. Should somebody send the dead letter in again, its settling corrects this.
  ///
  /// - Returns: what became of the fan-out, when nothing more is to come of it.
  package func noteDeadLetter(
    of part: DeadPart, _ event: Event, code: String, source: String, now: Int64
  ) async throws(RecordError) -> [FanOutFigure]? {
    let reply = try await run(
      DeadLetterScripts.note, event, now: now,
      arguments: part.arguments + [code, source])
    switch reply[0].text {
    case "noted", "nothing": return reply[1].integer == 1 ? Self.outcomes(reply[2]) : nil
    default: throw .unexpected(reply.kind, from: "the script that notes a dead letter")
    }
  }
}
