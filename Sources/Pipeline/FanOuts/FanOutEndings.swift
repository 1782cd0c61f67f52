import Model
import Record
import Telemetry

/// The ends of fan-outs that a lane sees: what the log says of them, and how long they took.
/// Confined to its lane.
final class FanOutEndings {
  private let log: Log
  /// From the moment a worker opened it to its last outcome, of those that are whole and had
  /// pushes: one that nobody is told of is over when it begins.
  private(set) var durations = Histogram.fanOutTimes
  /// From there to its first push, of those that sent any.
  private(set) var firstPushes = Histogram.fanOutTimes

  init(log: Log) { self.log = log }

  /// - Parameter isComplete: no segment of it is in the dead letters.
  func note(_ event: Event, _ figures: [FanOutFigure], isComplete: Bool) {
    let times = FanOutTimes(figures)
    if isComplete,
      figures.contains(where: { $0.name == FanOutCounter.pushes.rawValue && $0.count > 0 })
    {
      if let took = times.took { durations.observe(nanoseconds: took.nanoseconds) }
      if let first = times.firstPush { firstPushes.observe(nanoseconds: first.nanoseconds) }
    }
    var fields: LogFields = ["event": .text(event.id)]
    for figure in figures where !FanOutTimes.names.contains(figure.name) {
      fields = fields.merging([figure.name: .integer(figure.count)])
    }
    if let first = times.firstPush {
      fields = fields.merging(["first_push_after_ms": .integer(Int(first.wholeMilliseconds))])
    }
    if let took = times.took {
      fields = fields.merging(["took_ms": .integer(Int(took.wholeMilliseconds))])
    }
    let isForgotten = figures.contains {
      $0.name == FanOutCounter.forgotten.rawValue && $0.count > 0
    }
    switch (isComplete, isForgotten) {
    case (true, false): log.info("fan-out done", fields)
    case (true, true):
      log.warning("fan-out done, but Redis had lost what was noted of it meanwhile", fields)
    case (false, true):
      log.warning("fan-out incomplete: Redis has lost what was noted of it", fields)
    case (false, false):
      log.warning("fan-out incomplete: the rest of it is in the dead letters", fields)
    }
  }
}

/// When a fan-out began, sent and ended, by the clocks of the workers that noted it.
private struct FanOutTimes {
  static let names = Set(FanOutCounter.times.map(\.rawValue))

  let took: Duration?
  let firstPush: Duration?

  init(_ figures: [FanOutFigure]) {
    func time(_ counter: FanOutCounter) -> Int? {
      figures.first { $0.name == counter.rawValue }?.count
    }
    // Clocks differ: none is negative.
    func since(_ start: Int?, _ end: Int?) -> Duration? {
      guard let start, let end else { return nil }
      return .milliseconds(max(0, end - start))
    }
    took = since(time(.started), time(.done))
    firstPush = since(time(.started), time(.firstPush))
  }
}
