import Model
import Record
import Terminal

/// Decides what is told of a fan-out that is watched, and when that ends. A pure machine; time is
/// passed in (monotonic nanoseconds).
package struct FanOutWatch {
  /// For a worker to read the event: one that was restarted reads again within half of it.
  package static let unknownLimit: Duration = .seconds(30)

  /// How long an event that Redis does not know is waited for.
  package var unknownLimit: Duration { min(limit, Self.unknownLimit) }

  private let beganAt: UInt64
  private let limit: Duration
  private var lastSeen: FanOutStatus?

  /// - Parameter limit: when it is given up.
  package init(limit: Duration, at now: UInt64) {
    self.limit = limit
    beganAt = now
  }

  /// Takes what Redis says: nil for an event that it does not know.
  /// - Returns: whether that is another state than before, and how the watch ends; nil: it goes on.
  package mutating func look(
    _ status: FanOutStatus?, at now: UInt64
  ) -> (isChange: Bool, end: ExitCode?) {
    let isChange = status != nil && status != lastSeen
    if let status { lastSeen = status }
    return (isChange, status.flatMap(Self.end) ?? giveUp(at: now))
  }

  /// Nothing was heard: Redis does not answer.
  package func giveUp(at now: UInt64) -> ExitCode? {
    let waited = Duration.nanoseconds(Int64(clamping: now &- beganAt))
    if lastSeen == nil { return waited >= unknownLimit ? .unknown : nil }
    return waited >= limit ? .timedOut : nil
  }

  /// How a fan-out that has ended did; nil while it goes on.
  private static func end(_ status: FanOutStatus) -> ExitCode? {
    switch (status.state, status.halt) {
    // One that is cancelled before its time ends within seconds.
    case (.scheduled, _), (.running, _), (.unknown, _): nil
    // Its stragglers are read when it is resumed.
    case (.incomplete, .paused?): nil
    case (_, .cancelled?): .cancelled
    case (.done, _): .ok
    case (.incomplete, _), (.expired, _): .incomplete
    }
  }

  /// The text behind the figures.
  package static func note(of status: FanOutStatus) -> String {
    var words = [status.word]
    if !status.haltReason.isEmpty { words[0] += " (\(status.haltReason))" }
    if status.state == .scheduled {
      return words[0] + (status.sendAt.map { " for \($0.text)" } ?? "")
    }
    words.append(
      "\(Figures.grouped(status.settled)) of "
        + "\(Figures.grouped(status.segments &+ status.stragglers)) segments")
    if status.waiting > 0 {
      words.append(
        "\(Figures.grouped(status.waiting)) pushes wait"
          + (status.obstacle.isEmpty ? "" : ": \(status.obstacle)"))
    }
    return words.joined(separator: ", ")
  }
}
