import Keyspace
import Model
import Redis

/// The Lua that gives out what workers together may send in a second, in slices: a token bucket, of
/// which the hash knows up to which time it is used up. Time is Redis' own.
enum LimitScripts {
  static let lease = RedisScript(RecordScripts.permissions + leaseBody)

  /// What was not used is kept for so long: a lane that asks a little late loses nothing.
  private static let keptMicroseconds = 200_000

  /// KEYS: limit. ARGV: pushes a second, pushes that are asked for, seconds that the key lives.
  /// Answers how many may go. At most half of what is there: so none of those that ask at the same
  /// time has it all.
  private static let leaseBody = """
    local problem = forbidden({{'HGET', KEYS[1], 'f'}, {'HSET', KEYS[1], 'f', 'v'},
      {'EXPIRE', KEYS[1], '1'}})
    if problem then return problem end
    local time = redis.call('TIME')
    local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
    local each = 1000000 / tonumber(ARGV[1])
    -- One whole push, however the division was rounded.
    local kept = math.max(each + 1, \(keptMicroseconds))
    local used = tonumber(redis.call('HGET', KEYS[1], 'used_until_us')) or 0
    -- Beyond now it is only where the clock was set back.
    used = math.min(math.max(used, now - kept), now)
    local there = math.floor((now - used) / each)
    local given = math.min(tonumber(ARGV[2]), math.ceil(there / 2))
    redis.call('HSET', KEYS[1], 'used_until_us', string.format('%.0f', used + given * each))
    redis.call('EXPIRE', KEYS[1], ARGV[3])
    return given
    """
}

extension RecordStage {
  /// Takes some of the pushes a second that a limit leaves to all workers.
  /// - Parameter pushes: as many as would be used.
  /// - Returns: how many may be sent; none were taken where it throws an error, unless only the
  ///   answer was lost.
  package func lease(
    _ pushes: Int, of limit: PushLimit
  ) async throws(RecordError) -> Int {
    let key =
      switch limit.subject {
      case .app(let name): keyspace.limit(app: name)
      case .event(let id): keyspace.limit(event: id)
      }
    let reply = try await evaluate(
      LimitScripts.lease, keys: [key],
      arguments: [String(limit.rate), String(pushes), String(Keyspace.limitLifetimeSeconds)])
    guard let granted = reply.integer else {
      throw .unexpected(reply.kind, from: "the script that leases pushes of a limit")
    }
    return Int(granted)
  }
}
