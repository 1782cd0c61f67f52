import Keyspace
import Redis
import Text

extension RecordStage {
  /// What a dashboard shows of a worker: fields of `ff:worker:<id>`, which vanish when it beats no
  /// more. Returns the instance whose fields these took the place of: nil for the first beat.
  @discardableResult
  package func heartbeat(
    worker: String, instance: String, _ fields: [(name: String, value: String)]
  ) async throws(RecordError) -> String? {
    let key = keyspace.worker(id: worker)
    let pipeline = RedisPipeline()
    pipeline.append(["HGET", key, "instance"])
    pipeline.append(
      ["HSET", key, "instance", instance] + fields.flatMap { [$0.name, $0.value] })
    pipeline.append(["EXPIRE", key, String(Keyspace.workerLifetimeSeconds)])
    return try await execute(pipeline).text
  }

  /// What time it is by Redis' clock, which all workers share, in ms since 1970.
  package func time() async throws(RecordError) -> Int64 {
    let reply = try await execute(["TIME"])
    guard reply.count == 2, let seconds = Int64(reply[0].text ?? ""),
      let microseconds = Int64(reply[1].text ?? ""), (0..<1_000_000).contains(microseconds),
      Timestamp.range.contains(seconds), Timestamp.range.contains(seconds * 1000)
    else { throw .unexpected(reply.kind, from: "TIME") }
    return seconds * 1000 + microseconds / 1000
  }

  /// Adds to the statistics how many records went to the dead letters, by the code of the reason.
  package func countDeadLetters(_ codes: [String: Int], now: Int64) async throws(RecordError) {
    guard !codes.isEmpty else { return }
    var arguments = [
      String(Keyspace.dayLifetimeSeconds), String(Keyspace.minuteLifetimeSeconds),
      "dead_letters", String(codes.values.reduce(0, +)),
    ]
    for (code, count) in codes.sorted(by: { $0.key < $1.key }) {
      arguments += ["dead_letters:\(code)", String(count)]
    }
    _ = try await evaluate(
      DeadLetterScripts.count,
      keys: [
        keyspace.statsTotal, keyspace.statsDay(milliseconds: now),
        keyspace.statsMinute(milliseconds: now),
      ], arguments: arguments)
  }

  /// Writes the counters of all time as the point of these 10 seconds. Every worker may call it:
  /// the first one writes the point. Returns whether this call was the first.
  @discardableResult
  package func appendSeriesPoint(now: Int64) async throws(RecordError) -> Bool {
    let interval = Int64(Keyspace.seriesIntervalSeconds) * 1000
    let bucket = now - now % interval
    let reply = try await evaluate(
      RecordScripts.series, keys: [keyspace.statsTotal, keyspace.statsSeries],
      arguments: ["\(bucket)-0", String(Keyspace.statsSeriesMaximumEntries)] + Self.seriesFields)
    return reply.integer == 1
  }

  static let seriesFields = [
    "events", "events_done", "events_expired", "events_incomplete", "events_duplicate", "segments",
    "recipients", "pushes", "accepted", "rejected", "expired", "cancelled", "suppressed", "retried",
    "stragglers",
    "pruned", "prune_refused", "quarantined", "skipped", "dead_letters", "record_errors",
  ]
}
