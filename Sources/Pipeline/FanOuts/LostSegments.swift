import EventLoop
import Ingest
import Kafka
import Model
import Record
import Telemetry

/// Segments whose records Kafka threw away before anybody read them. Plans them again from the
/// stored event; a record that was not lost after all is claimed once. Where there is no such
/// event, and for stragglers, which are in no other record, they count as lost, so that their
/// fan-out comes to its end. Confined to its lane.
final class LostSegments {
  /// Fan-outs that are looked at, those that began last: far more than are under way at a time.
  private static let maximumFanOuts = 1000
  /// In one call of a script, and written to Kafka at a time.
  private static let window = 128
  /// Between workers' clocks: a fan-out may seem to have begun later than it did.
  private static let clockDifference: Duration = .seconds(60)

  private let options: PipelineOptions
  private let loop: EventLoop
  private let ingest: IngestStage
  private let record: RecordStage
  private let retry: RetryUntilStopped
  private let writer: RecordWriter
  private let endings: FanOutEndings
  private var lastRecovery = 0

  init(
    options: PipelineOptions, loop: EventLoop, ingest: IngestStage, record: RecordStage,
    retry: RetryUntilStopped, writer: RecordWriter, endings: FanOutEndings
  ) {
    self.options = options
    self.loop = loop
    self.ingest = ingest
    self.record = record
    self.retry = retry
    self.writer = writer
    self.endings = endings
  }

  /// Returns when to call it again.
  func recover(
    _ lost: LostRecords, isolation: isolated any Actor = #isolation
  ) async -> NextLook {
    var next = NextLook()
    lastRecovery += 1
    do {
      let known = try await ask("read the fan-outs from Redis") {
        try await record.recentFanOuts(atMost: Self.maximumFanOuts)
      }
      for fanOut in known where fanOut.status.state == .running {
        let own = try await recover(fanOut, lost)
        next.segments = Self.sooner(next.segments, own.segments)
        next.stragglers = Self.sooner(next.stragglers, own.stragglers)
      }
    } catch is RetryUntilStopped.Stopped {
      return NextLook()
    } catch {
      options.log.error("lost segments are not planned again", ["error": .text("\(error)")])
    }
    return next
  }

  private static func sooner(_ first: Duration?, _ second: Duration?) -> Duration? {
    guard let first, let second else { return first ?? second }
    return min(first, second)
  }

  private func recover(
    _ fanOut: KnownFanOut, _ lost: LostRecords, isolation: isolated any Actor = #isolation
  ) async throws -> NextLook {
    var next = NextLook()
    // Before the open segments are read: what is lost later is another recovery's.
    let turn = try await turn(of: fanOut, lost)
    let found = try await ask("read the open segments from Redis") {
      try await record.openSegments(of: fanOut)
    }
    guard let open = found else { return next }
    let event = open.document.flatMap { try? ingest.event(document: $0) }
    var names: [String] = []
    if let turn {
      if let event, !event.isExpired(at: options.wallClock()) {
        switch turn {
        case .now: try await plan(open, again: event)
        case .covered: break
        case .later(let delay): next.segments = delay
        }
      } else {
        names += open.names
        if open.published > 0, open.published < open.count { names.append("plan") }
      }
    }
    if let lostAt = lost.stragglers, !open.stragglers.isEmpty, began(fanOut, before: lostAt) {
      let wait = wait(forStragglersOf: event, lostAt: lostAt)
      if wait > .zero { next.stragglers = wait } else { names += open.stragglers }
    }
    try await note(names, of: fanOut)
    return next
  }

  /// Nil where no segments are lost.
  private func turn(
    of fanOut: KnownFanOut, _ lost: LostRecords, isolation: isolated any Actor = #isolation
  ) async throws -> RecoveryTurn? {
    guard let lostAt = lost.segments else { return nil }
    return try await ask("begin to recover a fan-out in Redis") {
      try await record.beginRecovery(
        of: fanOut.event,
        owner: "\(options.workerID)/\(options.instance)/\(lastRecovery)",
        age: .nanoseconds(Int64(loop.now &- lostAt)))
    }
  }

  private func began(_ fanOut: KnownFanOut, before lostAt: UInt64) -> Bool {
    let lostAgo = Duration.nanoseconds(Int64(loop.now &- lostAt))
    let latest = options.wallClock() - (lostAgo - Self.clockDifference).wholeMilliseconds
    return Int64(fanOut.status.startedAt) <= latest
  }

  /// Stragglers that are still there go round until their event expires, and have outcomes soon
  /// after. Where nobody knows when that is, they are given the time in which one is read again.
  private func wait(forStragglersOf event: Event?, lostAt: UInt64) -> Duration {
    let rest = options.straggleDelay + options.adoptAfter
    guard let event else { return rest - .nanoseconds(Int64(loop.now &- lostAt)) }
    return .milliseconds(event.expiresAt - options.wallClock()) + rest
  }

  private func note(
    _ names: [String], of fanOut: KnownFanOut, isolation: isolated any Actor = #isolation
  ) async throws {
    var count = 0
    for first in stride(from: 0, to: names.count, by: Self.window) {
      let some = Array(names[first..<min(first + Self.window, names.count)])
      let noted = try await ask("note lost segments in Redis") {
        try await record.noteLost(some, of: fanOut, now: options.wallClock())
      }
      count += noted.count
      if let figures = noted.end { endings.noteLost(fanOut.event, figures) }
    }
    guard count > 0 else { return }
    options.log.error(
      "segments are lost: Kafka no longer has their records",
      ["event": .text(fanOut.event), "segments": .integer(count)])
  }

  private func plan(
    _ open: OpenSegments, again event: Event, isolation: isolated any Actor = #isolation
  ) async throws {
    let plan = RemainingPlan(
      event: event, generation: open.generation, count: open.count, first: open.published)
    let isBulk = open.count > Segment.maximumOfUsual
    let topic = isBulk ? options.ingest.bulkTopic : options.ingest.segmentsTopic
    for first in stride(from: 0, to: open.missing.count, by: Self.window) {
      let numbers = open.missing[first..<min(first + Self.window, open.missing.count)]
      let records = numbers.flatMap { plan.segments($0..<$0 + 1) }.map { SegmentRecord.encode($0) }
      try await writer.publish(topic, records)
    }
    // The record that brings the next of them may be lost as well.
    if isBulk, open.published > 0, open.published < open.count {
      try await writer.publish(topic, [SegmentRecord.encode(plan)])
    }
    guard !open.missing.isEmpty else { return }
    options.log.warning(
      "segments that Kafka may have lost are planned again",
      ["event": .text(event.id), "segments": .integer(open.missing.count)])
  }

  private func ask<T>(_ what: String, _ call: () async throws -> T) async throws -> T {
    try await retry.persistent(what, isOver: { false }, call)
  }
}
