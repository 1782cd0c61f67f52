import Keyspace
import Redis

/// Counts dead letters beside the fan-outs, and reads the counters of all time as a series.
extension RecordStage {
  /// Adds to the statistics how many records went to the dead letters, by the code of the reason.
  /// Counted once, however often it is called with the same receipt within ten minutes: the
  /// answer to a call may have been lost.
  package func countDeadLetters(
    _ codes: [String: Int], receipt: String, now: Int64
  ) async throws(RecordError) {
    guard !codes.isEmpty else { return }
    var counters = ["dead_letters", String(codes.values.reduce(0, +))]
    for (code, count) in codes.sorted(by: { $0.key < $1.key }) {
      counters += ["dead_letters:\(code)", String(count)]
    }
    _ = try await evaluate(
      DeadLetterScripts.count,
      keys: [
        keyspace.statsTotal, keyspace.statsDay(milliseconds: now),
        keyspace.statsMinute(milliseconds: now), keyspace.statsReceipt(receipt),
      ],
      arguments: [
        "day_seconds": String(Keyspace.dayLifetimeSeconds),
        "minute_seconds": String(Keyspace.minuteLifetimeSeconds),
        "receipt_seconds": String(Keyspace.receiptLifetimeSeconds),
      ], list: counters, isLasting: true)
  }

  /// The beginning of the interval that a moment is in; both in ms since 1970.
  package static func seriesPoint(at now: Int64) -> Int64 {
    now - now % (Int64(Keyspace.seriesIntervalSeconds) * 1000)
  }

  /// Writes the counters of all time as the point of these 10 seconds. Every worker may call it:
  /// the first one writes the point. Returns whether this call was the first.
  @discardableResult
  package func appendSeriesPoint(now: Int64) async throws(RecordError) -> Bool {
    let reply = try await evaluate(
      RecordScripts.series, keys: [keyspace.statsTotal, keyspace.statsSeries],
      arguments: [
        "id": "\(Self.seriesPoint(at: now))-0",
        "maximum_entries": String(Keyspace.statsSeriesMaximumEntries),
      ], list: Self.seriesFields)
    return reply.integer == 1
  }

  private static let seriesCounters: [FanOutCounter] =
    [.segments, .recipients, .pushes] + FanOutCounter.outcomes + [
      .retried, .stragglers, .pruned, .pruneRefused, .quarantined, .skipped, .recordErrors,
    ]

  static let seriesFields =
    ["events", "events_done", "events_expired", "events_incomplete", "events_duplicate"]
    + seriesCounters.map(\.rawValue) + ["dead_letters"]
}
