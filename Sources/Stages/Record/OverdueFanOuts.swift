import Keyspace
import Redis

/// Fan-outs that are running although their event is over and nobody works on them: the records of
/// what is left are lost, in whatever way.
extension RecordStage {
  /// So many fan-outs are asked about at a time.
  private static let overduePage = 1000

  /// KEYS: event, settled segments, claims. ARGV: for how long nothing must have happened, and how
  /// far apart two looks may be, both in ms. Answers 1 when the fan-out's event is over, and every
  /// look for so long has found no claim on it and the same number of settled segments. A time in
  /// which nobody looked, as while all workers were away, does not count.
  private static let overdue = RedisScript(
    ClaimScripts.clock + """
      local event, settled, claims = unpack(KEYS)
      local known = redis.call('HMGET', event, 'state', 'expires_ms', 'overdue')
      local expires = tonumber(known[2] or '')
      if known[1] ~= 'running' or not expires or now < expires then return 0 end
      local all = redis.call('HGETALL', claims)
      for i = 2, #all, 2 do
        local _, ends = read(all[i])
        if ends > now then
          redis.call('HDEL', event, 'overdue')
          return 0
        end
      end
      local number = redis.call('SCARD', settled)
      local first, last, before = string.match(known[3] or '', '^(%d+) (%d+) (%d+)$')
      first, last = tonumber(first), tonumber(last)
      if not first or tonumber(before) ~= number or last > now or now - last > tonumber(ARGV[2])
      then
        first = now
      end
      redis.call('HSET', event, 'overdue', whole(first) .. ' ' .. whole(now) .. ' ' .. number)
      return now - first >= tonumber(ARGV[1]) and 1 or 0
      """)

  /// To be called again and again; the answers build on each other.
  /// - Parameters:
  ///   - wait: for how long nothing must have happened to a fan-out whose event is over.
  ///   - gap: how far apart two calls, of whichever worker, may be.
  package func overdueFanOuts(
    after wait: Duration, lookedAtEvery gap: Duration
  ) async throws(RecordError) -> [KnownFanOut] {
    let events = try await begunLast(atMost: Keyspace.statsEventsMaximumEntries)
    var overdue: [KnownFanOut] = []
    for first in stride(from: 0, to: events.count, by: Self.overduePage) {
      let page = Array(events[first..<min(first + Self.overduePage, events.count)])
      let replies = try await ask(ofEach: page) { ["HGET", $0, "state"] }
      for (index, event) in page.enumerated()
      where replies[index].text == FanOutStatus.State.running.rawValue {
        do throws(RecordError) {
          guard try await isOverdue(event, wait, gap), let status = try await status(of: event)
          else { continue }
          overdue.append(KnownFanOut(event: event, status: status))
        } catch {
          // Keys of one event that hold something else must not keep the others running.
          if error.isTransient { throw error }
        }
      }
    }
    return overdue
  }

  private func isOverdue(
    _ event: String, _ wait: Duration, _ gap: Duration
  ) async throws(RecordError) -> Bool {
    let reply = try await evaluate(
      Self.overdue,
      keys: [
        keyspace.event(id: event), keyspace.settled(id: event), keyspace.claims(id: event),
      ],
      arguments: [Self.milliseconds(wait), Self.milliseconds(gap)])
    return reply.integer == 1
  }
}
