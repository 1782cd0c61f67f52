import Keyspace
import Record
import Redis
import Text

/// Reads what a live view shows, in four round trips: the ids of fan-outs that have begun and of
/// scheduled ones, the hashes of those that go on, and the workers with their heartbeats. Fan-outs
/// that have ended are read once, and again now and then: a segment may come back from the dead
/// letters. Confined to its loop.
package final class TopReader {
  /// Workers that are shown.
  package static let maximumWorkers = 64
  /// How old what is known of a fan-out that has ended may be.
  private static let endedLifetimeMilliseconds: Int64 = 30_000

  private struct Known {
    var status: FanOutStatus
    var readAt: Int64
    var rate = CounterRate()
  }

  private let record: RecordStage
  private let limit: Int
  private var known: [ExactText: Known] = [:]
  private var obstacles: [ExactText: Int64] = [:]

  /// - Parameter limit: how many fan-outs that have begun are looked at, and how many scheduled
  ///   ones.
  package init(redis: RedisClient, keyspace: Keyspace, limit: Int) {
    record = RecordStage(redis: redis, keyspace: keyspace)
    self.limit = limit
  }

  /// - Parameters:
  ///   - now: ms since 1970.
  ///   - monotonic: nanoseconds.
  package func read(now: Int64, monotonic: UInt64) async throws(RecordError) -> TopSnapshot {
    var events = try await record.begunLast(atMost: limit)
    let begun = Set(events.map { ExactText($0) })
    events += try await record.dueNext(atMost: limit).filter { !begun.contains(ExactText($0)) }
    let wanted = events.filter { isWanted($0, now: now) }
    let statuses = try await record.statuses(of: wanted)
    let beats = try await record.beatingWorkers(atMost: Self.maximumWorkers)
    for (event, status) in zip(wanted, statuses) {
      let name = ExactText(event)
      guard let status else {
        known[name] = nil
        continue
      }
      var entry = known[name] ?? Known(status: status, readAt: now)
      (entry.status, entry.readAt) = (status, now)
      entry.rate.add(status.progress.done, at: Int64(monotonic / 1_000_000))
      known[name] = entry
    }
    let names = Set(events.map { ExactText($0) })
    known = known.filter { names.contains($0.key) }
    let workers = beats.workers.filter { !$0.fields.isEmpty }.map { WorkerRow($0) }
      .sorted { $0.id < $1.id }
    return TopSnapshot(
      asOf: now, fanOuts: rows(events, limits: workers.flatMap(\.limits), now: now),
      workers: workers, workersLeftOut: max(0, beats.all - beats.workers.count),
      obstacles: rows(workers, now: now), window: limit)
  }

  private func isWanted(_ event: String, now: Int64) -> Bool {
    guard let entry = known[ExactText(event)] else { return true }
    return switch entry.status.state {
    case .scheduled, .running, .unknown: true
    case .done, .expired, .incomplete: now - entry.readAt >= Self.endedLifetimeMilliseconds
    }
  }

  private func rows(_ events: [String], limits: [String], now: Int64) -> [FanOutRow] {
    let rows = events.compactMap { event in
      known[ExactText(event)].map {
        FanOutRow(
          KnownFanOut(event: event, status: $0.status), rate: $0.rate.perSecond, limits: limits,
          now: now)
      }
    }
    return FanOutRow.ordered(rows, now: now)
  }

  private func rows(_ workers: [WorkerRow], now: Int64) -> [ObstacleRow] {
    var counts: [ExactText: Int] = [:]
    for worker in workers {
      for text in Set((worker.waitsFor + worker.heldRoutes).map { ExactText($0) }) {
        counts[text, default: 0] += 1
      }
    }
    obstacles = obstacles.filter { counts[$0.key] != nil }
    for text in counts.keys where obstacles[text] == nil { obstacles[text] = now }
    let rows = counts.map { text, count in
      ObstacleRow(text: text.text, workers: count, seenSince: obstacles[text] ?? now)
    }
    return rows.sorted { ($0.seenSince, $0.text) < ($1.seenSince, $1.text) }
  }
}
