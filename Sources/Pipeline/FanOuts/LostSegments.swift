import EventLoop
import Ingest
import Kafka
import Model
import Record
import Telemetry

/// Segments whose records Kafka threw away before anybody read them. Plans them again from the
/// stored event, as long as that has not expired; a record that was not lost after all is claimed
/// once. `OverdueFanOuts` ends fan-outs that cannot be planned again. Confined to its lane.
final class LostSegments {
  /// Fan-outs that are looked at, those that began last: far more than are under way at a time.
  private static let maximumFanOuts = 1000
  /// Written to Kafka at a time.
  private static let window = 128

  private let lane: LaneContext
  private var lastRecovery = 0

  init(_ lane: LaneContext) { self.lane = lane }

  /// - Parameter lostAt: when records were last found to be lost, in monotonic nanoseconds.
  /// - Returns: when to call it again; nil when nothing is left to do.
  func recover(lostAt: UInt64, isolation: isolated any Actor = #isolation) async -> Duration? {
    var next: Duration?
    lastRecovery += 1
    do {
      let known = try await ask("read the fan-outs from Redis") {
        try await lane.record.recentFanOuts(atMost: Self.maximumFanOuts)
      }
      for fanOut in known where fanOut.status.state == .running {
        do {
          guard let delay = try await recover(fanOut, lostAt) else { continue }
          next = min(next ?? delay, delay)
        } catch let error as RecordError {
          // That of one event must not keep the others' segments away.
          say(error, ["event": .text(fanOut.event)])
        }
      }
    } catch is RetryUntilStopped.Stopped {
      return .zero
    } catch {
      say(error)
    }
    return next
  }

  private func say(_ error: any Error, _ fields: LogFields = [:]) {
    lane.log.error(
      "lost segments are not planned again", fields.merging(["error": .text("\(error)")]))
  }

  /// Returns when to ask for the fan-out again.
  private func recover(
    _ fanOut: KnownFanOut, _ lostAt: UInt64, isolation: isolated any Actor = #isolation
  ) async throws -> Duration? {
    // Before the open segments are read: what is lost later is another recovery's.
    let turn = try await ask("begin to recover a fan-out in Redis") {
      try await lane.record.beginRecovery(
        of: fanOut.event,
        owner: "\(lane.options.workerID)/\(lane.options.instance)/\(lastRecovery)",
        age: .nanoseconds(Int64(lane.loop.now &- lostAt)))
    }
    switch turn {
    case .now: break
    case .covered: return nil
    case .later(let delay): return delay
    }
    let found = try await ask("read the open segments from Redis") {
      try await lane.record.openSegments(of: fanOut)
    }
    guard let open = found, let document = open.document,
      let event = try? lane.ingest.event(document: document),
      !event.isExpired(at: lane.now)
    else { return nil }
    try await plan(open, again: event)
    return nil
  }

  private func plan(
    _ open: OpenSegments, again event: Event, isolation: isolated any Actor = #isolation
  ) async throws {
    let plan = RemainingPlan(event: event, audience: open.audience).after(open.published)
    let isBulk = plan.count > Segment.maximumOfUsual
    let topic = isBulk ? lane.options.ingest.bulkTopic : lane.options.ingest.segmentsTopic
    for first in stride(from: 0, to: open.missing.count, by: Self.window) {
      let numbers = open.missing[first..<min(first + Self.window, open.missing.count)]
      let records = numbers.flatMap { plan.segments($0..<$0 + 1) }.map { SegmentRecord.encode($0) }
      try await lane.writer.publish(topic, records, of: event)
    }
    // The record that brings the next of them may be lost as well.
    if isBulk, open.published > 0, open.published < open.count {
      try await lane.writer.publish(topic, [SegmentRecord.encode(plan)], of: event)
    }
    guard !open.missing.isEmpty else { return }
    lane.log.warning(
      "segments that Kafka may have lost are planned again",
      .of(event, ["segments": .integer(open.missing.count)]))
  }

  private func ask<T>(_ what: String, _ call: () async throws -> T) async throws -> T {
    try await lane.retry.persistent(what, isOver: { false }, call)
  }
}
