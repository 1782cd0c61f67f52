import FanOuts
import Record
import Terminal

/// A fan-out as a live view shows it.
package struct FanOutRow: Sendable, Equatable {
  package let event: String
  package let streamer: String
  package let state: LiveState
  /// The person who paused it, since when and why; what it waits for, when it is to be sent, or its
  /// limit. Empty where the state says it all.
  package let why: String
  /// Pushes with an outcome, and about how many there will be; nil while that is not known.
  package let done: Int
  package let total: Int?
  /// Pushes a second over the last 10 s; nil until it was seen twice.
  package let rate: Double?
  /// Nil while nothing moves, or nobody knows how much is left.
  package let secondsLeft: Int?
  /// Ms since 1970; 0: not known, or not so.
  package let expiresAt: Int64
  package let startedAt: Int64
  package let endedAt: Int64
  package let accepted: Int
  package let rejected: Int

  /// - Parameters:
  ///   - rate: pushes a second that got an outcome; nil: not known yet.
  ///   - limits: what workers say of limits that hold up pushes.
  ///   - now: ms since 1970.
  package init(_ known: KnownFanOut, rate: Double?, limits: [String], now: Int64) {
    let status = known.status
    event = known.event
    streamer = status.streamer
    let state = status.liveState(of: known.event, rate: rate, limits: limits)
    self.state = state
    let progress = status.progress
    (done, total) = (progress.done, progress.total)
    let isOver = [.incomplete, .done, .expired, .cancelled].contains(state)
    self.rate = isOver ? nil : rate
    let left = (progress.total ?? 0) - progress.done
    if let rate, rate > 0, progress.total != nil, !isOver {
      let seconds = Double(left) / rate
      secondsLeft = seconds < 1e9 ? Int(seconds.rounded(.up)) : nil
    } else {
      secondsLeft = nil
    }
    expiresAt = Int64(status.numbers["expires_ms"] ?? 0)
    startedAt = Int64(status.startedAt)
    endedAt = Int64(status.doneAt)
    accepted = status.accepted
    rejected = status.rejected.values.reduce(0, &+)
    why = Self.why(state, status, limits: limits, event: known.event, now: now)
  }

  /// Nothing more is to come of it.
  package var isFinished: Bool {
    switch state {
    case .done, .expired, .incomplete, .cancelled: true
    case .running, .paused, .limited, .waiting, .scheduled, .unknown: false
    }
  }

  private static func why(
    _ state: LiveState, _ status: FanOutStatus, limits: [String], event: String, now: Int64
  ) -> String {
    switch state {
    case .paused, .cancelled: return FanOutReport.haltNote(status, now: now)
    case .scheduled:
      return status.releaseProblem ?? status.sendAt.map { "for \($0.text)" } ?? ""
    case .limited: return FanOutStatus.limit(of: event, among: limits) ?? ""
    case .running, .waiting:
      guard status.waiting > 0 else { return "" }
      return "\(Figures.grouped(status.waiting)) pushes wait"
        + (status.obstacle.isEmpty ? "" : ": \(status.obstacle)")
    case .incomplete:
      return "\(Figures.grouped(status.deadLettered)) segments are in the dead letters"
    case .done, .expired, .unknown: return ""
    }
  }
}

// MARK: - Order

extension FanOutRow {
  /// Ms that it has to spare before it expires; the least is the most at risk. One that does not
  /// move has none.
  private func spare(at now: Int64) -> Int64 {
    let left = expiresAt > 0 ? expiresAt - now : .max / 4
    if let secondsLeft { return left - Int64(secondsLeft) * 1000 }
    return rate == 0 && state != .scheduled && total.map { done < $0 } ?? true
      ? left - .max / 2 : left
  }

  /// Those that may expire before they are done come first, then those that have ended, the latest
  /// first.
  package static func ordered(_ rows: [FanOutRow], now: Int64) -> [FanOutRow] {
    rows.sorted { left, right in
      if left.isFinished != right.isFinished { return right.isFinished }
      if left.isFinished {
        return (left.endedAt, left.event) > (right.endedAt, right.event)
      }
      return (left.spare(at: now), left.event) < (right.spare(at: now), right.event)
    }
  }
}
