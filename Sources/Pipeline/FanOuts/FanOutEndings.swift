import Keyspace
import Model
import Record
import Telemetry
import Text

/// The ends of fan-outs that a lane sees: what the log says of them, and how long they took.
/// Confined to its lane.
final class FanOutEndings {
  private let log: Log
  /// From the moment a worker opened it to its last outcome, of those that are whole, had pushes,
  /// and were not forgotten by Redis meanwhile: one that nobody is told of is over when it begins.
  private(set) var durations = Histogram.fanOutTimes
  /// From there to its first push, of those that sent any.
  private(set) var firstPushes = Histogram.fanOutTimes

  init(log: Log) { self.log = log }

  /// Where the missing segments of a fan-out are.
  enum Rest { case nothing, isInDeadLetters, isLost }

  /// - Parameter trace: of the event.
  func note(
    _ event: String, trace: TraceContext? = nil, _ figures: [FanOutFigure], rest: Rest
  ) {
    let times = FanOutTimes(figures)
    func counts(_ counter: FanOutCounter) -> Bool {
      figures.contains { $0.name == counter.rawValue && $0.count > 0 }
    }
    let isForgotten = counts(.forgotten)
    if rest == .nothing, !isForgotten, counts(.pushes) {
      if let took = times.took { durations.observe(nanoseconds: took.nanoseconds) }
      if let first = times.firstPush { firstPushes.observe(nanoseconds: first.nanoseconds) }
    }
    let fields = LogFields.of(event, trace).merging(Self.fields(figures, times))
    switch (rest, isForgotten) {
    case (.nothing, false): log.info("fan-out done", fields)
    case (.nothing, true):
      log.warning("fan-out done, but Redis had lost what was noted of it meanwhile", fields)
    case (.isInDeadLetters, true):
      log.warning("fan-out incomplete: Redis has lost what was noted of it", fields)
    case (.isInDeadLetters, false):
      log.warning("fan-out incomplete: the rest of it is in the dead letters", fields)
    case (.isLost, _):
      log.error(
        "fan-out incomplete: its event is over, and the records of the rest of it are lost", fields)
    }
  }

  private static func fields(_ figures: [FanOutFigure], _ times: FanOutTimes) -> LogFields {
    var fields: LogFields = [:]
    for figure in figures where !FanOutTimes.names.contains(figure.name) {
      fields = fields.merging([figure.name: .integer(figure.count)])
    }
    if let first = times.firstPush {
      fields = fields.merging(["first_push_after_ms": .integer(Int(first.wholeMilliseconds))])
    }
    if let took = times.took {
      fields = fields.merging(["took_ms": .integer(Int(took.wholeMilliseconds))])
    }
    return fields
  }
}

extension LaneContext {
  /// Tells of a fan-out that has come to its end: in the log, as a span, and on the topic for
  /// outcomes, which Kafka may keep waiting.
  func ended(_ event: Event, _ figures: [FanOutFigure], rest: FanOutEndings.Rest) async throws {
    endings.note(event.id, trace: event.trace, figures, rest: rest)
    spans.ended(event, figures, rest)
    try await outcomes.publishEnd(of: event)
  }
}

/// When a fan-out began, sent and ended, by the clocks of the workers that noted it.
private struct FanOutTimes {
  static let names = Set(FanOutCounter.times.map(\.rawValue))

  let took: Duration?
  let firstPush: Duration?

  init(_ figures: [FanOutFigure]) {
    // A hash that was written by hand may hold anything.
    func time(_ counter: FanOutCounter) -> Int64? {
      figures.first { $0.name == counter.rawValue }.map { Int64($0.count) }
        .flatMap { $0 > 0 && Timestamp.range.contains($0) ? $0 : nil }
    }
    // Clocks differ: none is negative. None is longer than what is noted lives.
    func since(_ start: Int64?, _ end: Int64?) -> Duration? {
      guard let start, let end, end - start <= Int64(Keyspace.eventLifetimeSeconds) * 1000 else {
        return nil
      }
      return .milliseconds(max(0, end - start))
    }
    took = since(time(.started), time(.done))
    firstPush = since(time(.started), time(.firstPush))
  }
}

/// Ends fan-outs of which the rest is lost: their event is over, and nobody works on them. Whatever
/// way their records went, what is not settled counts as dead letters, so that each fan-out comes
/// to its end; a record that comes all the same corrects that. Confined to its lane.
final class OverdueFanOuts {
  /// Some worker looks at every point of the series. When none has for so long, what came of it
  /// nobody could see.
  private static let longestGap = Duration.seconds(6 * Keyspace.seriesIntervalSeconds)
  /// Names in one call of a script.
  private static let window = 128

  private let lane: LaneContext
  private var isUnderWay = false

  init(_ lane: LaneContext) { self.lane = lane }

  func endAll() async throws(RecordError) {
    guard !isUnderWay else { return }
    isUnderWay = true
    defer { isUnderWay = false }
    // The time in which stragglers, and what a dead worker has left, are read again.
    let overdue = try await lane.record.overdueFanOuts(
      after: lane.options.straggleDelay + lane.options.adoptAfter, lookedAtEvery: Self.longestGap)
    for fanOut in overdue {
      do throws(RecordError) {
        try await end(fanOut)
      } catch {
        // Keys of one event that hold something else must not keep the others running.
        if error.isTransient { throw error }
        lane.log.debug(
          "fan-out not ended", ["event": .text(fanOut.event), "error": .text("\(error)")])
      }
    }
  }

  private func end(_ fanOut: KnownFanOut) async throws(RecordError) {
    guard let open = try await lane.record.openSegments(of: fanOut) else { return }
    let names = open.names
    for first in stride(from: 0, to: names.count, by: Self.window) {
      let some = Array(names[first..<min(first + Self.window, names.count)])
      let figures = try await lane.record.noteLost(some, of: fanOut, now: lane.now)
      guard let figures else { continue }
      // Its headers are lost with its records, and its trace with them.
      if let document = open.document, let event = try? lane.ingest.event(document: document) {
        // That the lane stops meanwhile loses no push.
        try? await lane.ended(event, figures, rest: .isLost)
      } else {
        lane.endings.note(fanOut.event, figures, rest: .isLost)
      }
    }
  }
}
