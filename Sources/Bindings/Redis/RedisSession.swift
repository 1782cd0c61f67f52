import EventLoop
import Text

/// Whether there is a connection to Redis and what to do when there is none: states, events,
/// actions; no clock, no socket. `RedisConnection` performs what it says.
///
///     idle ─start─▶ connecting ─opened─▶ handshaking ─accepted─▶ ready
///                      ▲ ▲  │                 │ │                  │
///                      │ └──┼── foundReplica ─┘ │                  │
///                      │    └────── lost ───────┴──────────────────┘
///                      └─timer─ backingOff ◀──┘          any ─close─▶ closed
struct RedisSession: ~Copyable {
  enum State: Equatable { case idle, connecting, handshaking, ready, backingOff, closed }

  enum Event: Equatable {
    case start
    case opened
    case handshakeAccepted
    /// A replica answers, and another server is to be tried in its place, at once.
    case foundReplica
    /// The connection could not be made, broke, or was found useless.
    case lost(RedisError)
    case timerFired
    case close
  }

  enum Action: Equatable {
    case connect
    case sendHandshake
    case startTimer(Duration)
    case cancelTimer
    /// Drop the connection, if it is still there.
    case disconnect
    case sendWaiting
    /// End what was sent and has no answer.
    case failSent(RedisError)
    /// End everything.
    case failAll(RedisError)
    case report(String)
  }

  private(set) var state = State.idle
  /// Why there is no connection; nil when there is one or none was tried.
  private(set) var lastFailure: RedisError?
  private let name: String
  private let connectTimeout: Duration
  private let minimum: Duration
  private let maximum: Duration
  private var failedAttempts = 0
  private var readySince: UInt64 = 0

  /// `name` is for reports: the endpoint.
  init(_ options: RedisOptions) {
    name = options.name
    connectTimeout = options.connectTimeout
    // Never without a pause, whatever the configuration says.
    minimum = max(options.reconnectMinimum, .milliseconds(1))
    maximum = max(options.reconnectMaximum, minimum)
  }

  /// `now`: monotonic nanoseconds. `random`: 0..<1, for the jitter.
  mutating func handle(_ event: Event, now: UInt64, random: Double) -> [Action] {
    switch (state, event) {
    case (.closed, _): return []
    case (_, .close): return close()
    case (.idle, .start), (.backingOff, .timerFired):
      state = .connecting
      return [.connect]
    case (.connecting, .opened):
      state = .handshaking
      return [.sendHandshake, .startTimer(connectTimeout)]
    case (.handshaking, .handshakeAccepted): return becomeReady(now)
    case (.handshaking, .foundReplica):
      state = .connecting
      return [.cancelTimer, .disconnect, .connect]
    case (.handshaking, .timerFired):
      return lose(RedisError(.unavailable, "Redis does not answer the handshake"), now, random)
    case (.connecting, .lost(let error)), (.handshaking, .lost(let error)),
      (.ready, .lost(let error)):
      return lose(error, now, random)
    // Late or early events: a timer that fired while it was being cancelled, a second start.
    case (.idle, _), (.connecting, _), (.handshaking, _), (.ready, _), (.backingOff, _): return []
    }
  }

  private mutating func becomeReady(_ now: UInt64) -> [Action] {
    let wasDown = lastFailure != nil
    state = .ready
    readySince = now
    lastFailure = nil
    let report: [Action] = wasDown ? [.report("\(name): connected again")] : []
    return [.cancelTimer] + report + [.sendWaiting]
  }

  private mutating func lose(_ error: RedisError, _ now: UInt64, _ random: Double) -> [Action] {
    // A connection that held for a while was good: begin again. One that breaks at once was not.
    let wasStable = state == .ready && now &- readySince >= maximum.nanoseconds
    if wasStable { failedAttempts = 0 }
    let wasReady = state == .ready
    state = .backingOff
    lastFailure = error
    let delay = delay(after: error, random)
    // The server did what it was asked; it is we who break off.
    let isOurs = wasReady && error.code == .replyTooLarge
    if !isOurs { failedAttempts = min(failedAttempts + 1, 64) }
    var actions: [Action] = [.cancelTimer, .disconnect]
    if wasReady {
      // A caller whose server does not answer in RESP must know it: a retry would not help.
      let code: RedisError.Code = error.code == .protocolError ? .protocolError : .connectionLost
      let lost = RedisError(
        code, "the connection to \(name) broke before the answer", cause: "\(error)")
      actions.append(.failSent(lost))
    }
    return actions + [.report("\(name): \(error); trying again"), .startTimer(delay)]
  }

  /// Doubles from the minimum to the maximum; what an operator must mend is tried at the maximum.
  /// Between half and the whole of it, at random, so that workers do not come back all at once.
  private func delay(after error: RedisError, _ random: Double) -> Duration {
    let isForOperator = error.code == .authentication || error.code == .refused
    var delay = isForOperator ? maximum : minimum
    for _ in 0..<failedAttempts where delay < maximum { delay *= 2 }
    let jitter = 0.5 + 0.5 * Swift.min(Swift.max(random, 0), 1)
    return Swift.min(delay, maximum) * jitter
  }

  private mutating func close() -> [Action] {
    state = .closed
    return [
      .cancelTimer, .disconnect, .failAll(RedisError(.closed, "\(name): the client is closed")),
    ]
  }

  /// The error of a pipeline that found no connection within `timeout`.
  func unavailable(after timeout: Duration) -> RedisError {
    RedisError.unavailable(name, after: timeout, because: lastFailure)
  }
}

extension RedisError {
  static func unavailable(
    _ name: String, after timeout: Duration, because failure: RedisError?
  ) -> RedisError {
    let code: Code =
      switch failure?.code {
      case .authentication: .authentication
      case .loading: .loading
      case .refused: .refused
      default: .unavailable
      }
    return RedisError(
      code, "\(name) gave no connection within " + DurationText.text(timeout),
      cause: failure?.description)
  }
}
