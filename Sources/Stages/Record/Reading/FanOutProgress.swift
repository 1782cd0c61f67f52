import Model

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
