import Model
import Redis

/// The Lua that notes segments that will never be settled, because their records are in the dead
/// letters.
enum DeadLetterScripts {
  static let note = RedisScript(
    RecordScripts.permissions + RecordScripts.prelude + FanOutEnd.functions + noteBody)
  static let count = RedisScript(countBody)
  static let lose = RedisScript(
    RecordScripts.permissions + RecordScripts.prelude + FanOutEnd.functions + loseBody)
  static let published = RedisScript(
    RecordScripts.permissions + RecordScripts.prelude + FanOutEnd.functions + publishedBody)

  /// ARGV 6…9: segment, `event` or `plan`, segments of the fan-out, the code of the reason, source
  /// of the event's record. Answers {what it did, whether the fan-out ended with it, its outcomes
  /// then}.
  private static let noteBody = """
    local segment, segments, code, source = ARGV[6], ARGV[7], ARGV[8], ARGV[9]
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

  /// ARGV 6…: segments of the fan-out, then names of segments whose records are lost. They count as
  /// those in the dead letters, with `lost` as the reason. Answers as above.
  private static let loseBody = """
    local segments, last = ARGV[6], nil
    if redis.call('HGET', event, 'state') ~= 'running' then return {'nothing', 0, {}} end
    for i = 7, #ARGV do
      local segment = ARGV[i]
      if redis.call('SISMEMBER', settled, segment) == 0
          and redis.call('SADD', dead, segment) == 1 then
        last = segment
      end
    end
    if not last then return {'nothing', 0, {}} end
    redis.call('HSET', event, 'dead_letter', last .. ' lost')
    note_lost()
    local ended = conclude(segments) == 2
    keep()
    return {'noted', ended and 1 or 0, ended and outcomes() or {}}
    """

  /// ARGV 6: how many segments are in Kafka. Never goes back; a plan that was a dead letter and
  /// came again is one no longer.
  private static let publishedBody = """
    if redis.call('EXISTS', event) == 0 then return 0 end
    local known = tonumber(redis.call('HGET', event, 'published')) or 0
    if tonumber(ARGV[6]) > known then redis.call('HSET', event, 'published', ARGV[6]) end
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
    guard ["noted", "nothing"].contains(reply[0].text) else {
      throw .unexpected(reply.kind, from: "the script that notes a dead letter")
    }
    try await handOver(event.id, now: now)
    return reply[1].integer == 1 ? Self.outcomes(reply[2]) : nil
  }
}
