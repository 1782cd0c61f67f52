/// When the nodes are asked for the map of slots: one question at a time, with a pause behind each,
/// however many want it. States, events, actions; no clock, no socket.
///
///     idle ─start─▶ asking ─answered, failed─▶ resting ─timer─▶ waiting
///                     ▲ ▲                         │ wanted meanwhile │
///                     │ └──────────timer──────────┘                  │
///                     └──────────────wanted, timer───────────────────┘
struct ClusterRefresh {
  enum State: Equatable { case idle, asking, resting, waiting, closed }

  enum Event: Equatable {
    case start
    /// The map was wrong, or a node is lost.
    case wanted
    /// There is a map; `isSettled`: all slots are served and no master is out of reach.
    case answered(isSettled: Bool)
    case failed
    case timerFired
    case close
  }

  enum Action: Equatable {
    case ask
    /// In the place of the one that runs.
    case startTimer(Duration)
    case cancelTimer
  }

  private(set) var state = State.idle
  private let minimum: Duration
  private let maximum: Duration
  private let interval: Duration
  private var isWanted = false
  /// Answers in a row that left something to be wished for.
  private var unsettled = 0

  /// - Parameters:
  ///   - minimum: the pause behind an answer. It doubles, up to `maximum`, while something is
  ///     wrong: a replica takes over some seconds after its master is gone.
  ///   - interval: how often the map is asked for when nobody wants it.
  init(minimum: Duration, maximum: Duration, interval: Duration) {
    self.minimum = max(minimum, .milliseconds(1))
    self.maximum = max(maximum, self.minimum)
    self.interval = max(interval, self.maximum)
  }

  mutating func handle(_ event: Event) -> [Action] {
    switch (state, event) {
    case (.closed, _): return []
    case (_, .close):
      state = .closed
      return [.cancelTimer]
    case (.idle, .start), (.waiting, .wanted), (.waiting, .timerFired): return ask()
    case (.asking, .wanted), (.resting, .wanted):
      isWanted = true
      return []
    case (.asking, .answered(let isSettled)): return rest(isSettled)
    case (.asking, .failed): return rest(false)
    case (.resting, .timerFired):
      if isWanted { return ask() }
      state = .waiting
      return [.startTimer(interval)]
    case (.idle, _), (.asking, _), (.resting, _), (.waiting, _): return []
    }
  }

  private mutating func ask() -> [Action] {
    state = .asking
    isWanted = false
    return [.cancelTimer, .ask]
  }

  private mutating func rest(_ isSettled: Bool) -> [Action] {
    state = .resting
    unsettled = isSettled ? 0 : min(unsettled + 1, 64)
    if !isSettled { isWanted = true }
    var pause = minimum
    for _ in 1..<max(unsettled, 1) where pause < maximum { pause *= 2 }
    return [.startTimer(min(pause, maximum))]
  }
}
