import Model

/// The state of a fan-out in one word, as whoever watches it is shown it.
package enum LiveState: String, Sendable, CaseIterable {
  case running, paused, scheduled, incomplete, done, expired, cancelled, unknown
  /// A limit of its own holds up its pushes.
  case limited
  /// All that is left of it are pushes that wait for another try.
  case waiting
}

/// How far a fan-out has come, for whoever watches it.
extension FanOutStatus {
  /// Nothing more is to come of it. What is incomplete and paused has stragglers that are read when
  /// it is resumed.
  package var hasEnded: Bool {
    switch (state, halt) {
    case (.scheduled, _), (.running, _), (.unknown, _), (.incomplete, .paused?): false
    case (.done, _), (.incomplete, _), (.expired, _): true
    }
  }

  /// In one word what its hash says in two fields.
  package var word: String {
    switch (state, halt) {
    case (.scheduled, let halt?), (.running, let halt?): halt.rawValue
    case (.incomplete, .paused?): Halt.paused.rawValue
    case (.done, .cancelled?): Halt.cancelled.rawValue
    case (let state, _): state.rawValue
    }
  }

  /// - Parameters:
  ///   - event: its id.
  ///   - rate: pushes a second that got an outcome; nil: not known.
  ///   - limits: those that hold up pushes, in the workers' words.
  package func liveState(of event: String, rate: Double?, limits: [String]) -> LiveState {
    let state = LiveState(rawValue: word) ?? .unknown
    guard state == .running else { return state }
    if Self.limit(of: event, among: limits) != nil { return .limited }
    let isWaiting = rate == 0 || segments > 0 && settled >= segments
    return waiting > 0 && isWaiting ? .waiting : .running
  }

  /// The event's own, as `PushLimit` calls itself.
  package static func limit(of event: String, among limits: [String]) -> String? {
    limits.first { $0.hasPrefix("event \(event): ") }
  }

  /// Pushes with an outcome, and about how many there will be: of the segments that are settled
  /// follows what the others hold, and what stragglers hold is what waits. Nil until one is
  /// settled.
  package var progress: (done: Int, total: Int?) {
    let done = max(0, pushes)
    guard !hasEnded else { return (done, done) }
    guard settled > 0 else { return (done, nil) }
    let rest = Double(max(0, segments &- settled)) * Double(done) / Double(settled)
    return (done, done &+ max(0, waiting) &+ Int(min(rest, 1e15)))
  }
}
