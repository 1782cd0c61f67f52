import Keyspace
import Redis

/// The scripts that bring what an event has counted into the statistics (`add_sums.lua`).
enum SumScripts {
  static let add = RedisScript([
    SharedLua.permissions, PackageResources.trying_lua, PackageResources.add_sums_lua,
  ])
  static let note = RedisScript([PackageResources.note_errors_lua])
}

extension RecordStage {
  /// Brings into the statistics what they do not have yet of the event, whoever counted it.
  package func handOver(_ event: String, now: Int64) async throws(RecordError) {
    let sums = try await execute(["HGETALL", keyspace.sums(id: event)])
    try await add(sums, of: event, now: now)
  }

  /// Adds to the statistics what they do not have yet of an event's sums, to the day and the minute
  /// of `now`.
  /// - Returns: how many counters could not be added to.
  @discardableResult
  func add(_ sums: RedisReply, of event: String, now: Int64) async throws(RecordError) -> Int {
    guard sums.count > 0 else { return 0 }
    let reply: RedisReply
    do {
      reply = try await evaluate(
        SumScripts.add,
        keys: [
          keyspace.statsTotal, keyspace.statsDay(milliseconds: now),
          keyspace.statsMinute(milliseconds: now), keyspace.statsEvents, keyspace.statsFanOuts,
          keyspace.statsSums(event: event),
        ],
        arguments: [
          "id": event, "day_seconds": String(Keyspace.dayLifetimeSeconds),
          "minute_seconds": String(Keyspace.minuteLifetimeSeconds),
          "known_seconds": String(Keyspace.statsSumsLifetimeSeconds),
          "maximum_entries": String(Keyspace.statsEventsMaximumEntries),
        ], list: (0..<sums.count).map { sums[$0].text ?? "" }, isLasting: true)
    } catch {
      // Sums that Redis never takes hold up no segment.
      guard error.code == .redis(.unsupported) || error.code == .redis(.wrongType) else {
        throw error
      }
      return 1
    }
    guard let failed = reply.integer else {
      throw .unexpected(reply.kind, from: "the script that adds to the statistics")
    }
    if failed > 0 {
      _ = try await evaluate(
        SumScripts.note, keys: [keyspace.event(id: event)], arguments: ["errors": String(failed)],
        isLasting: true)
    }
    return Int(failed)
  }
}
