/// Whether anything can be sent on a route at all: a pure machine. Pushes of a closed route leave
/// their segments, so that a server that is away holds up no others. Times are monotonic
/// nanoseconds.
final class RouteOpenness {
  /// The route's state when this is decided.
  struct Facts {
    /// Ordinary ones.
    var openConnections: Int
    /// One of them takes pushes now.
    var takes: Bool
    /// Pushes are ready that wait for a connection, and for nothing else.
    var hasSendablePushes: Bool
    /// Pushes are in flight, or wait for whatever it may be.
    var hasPushes: Bool
    /// The rest is as `RouteTraffic` has it.
    var lastMovedAt: UInt64
    var lastSentAt: UInt64
    var lastAnsweredAt: UInt64
    var unanswered: (pushes: Int, since: UInt64)
  }

  private let closedAfter: UInt64
  private let stalledAfter: UInt64
  private let silentAfter: UInt64
  /// Since when no connection has been open; nil while one is, or none is wanted.
  private var unconnectedSince: UInt64?
  /// The last attempt to connect came to nothing, and no connection has been open since: the route
  /// is closed at once, and not after `closedAfter`.
  var cannotConnect = false
  /// Since when connections take nothing, or nothing is answered; nil while all is well.
  private var stalledSince: UInt64?
  /// Why there is no credential, and until when none is made; nil when there is one.
  var lack: (kind: RouteObstacle.Kind, reason: String, until: UInt64)?
  /// Of a connection.
  private var lastFailure = "connecting"

  /// - Parameters:
  ///   - closedAfter: without a connection for so long, it is closed.
  ///   - stalledAfter: so it is when connections take nothing for so long.
  ///   - silentAfter: and when nothing of what they take is answered for so long.
  init(closedAfter: UInt64, stalledAfter: UInt64, silentAfter: UInt64) {
    self.closedAfter = closedAfter
    self.stalledAfter = stalledAfter
    self.silentAfter = silentAfter
  }

  // MARK: events

  func failed(_ reason: String) { lastFailure = reason }

  /// - Returns: whether that is new.
  func set(isUnconnected: Bool, at now: UInt64) -> Bool {
    guard isUnconnected != (unconnectedSince != nil) else { return false }
    unconnectedSince = isUnconnected ? now : nil
    return true
  }

  // MARK: the conclusion

  /// Of the closure, in words: a failing connection is not why a credential is missing.
  var reason: String { lack?.reason ?? lastFailure }

  /// The obstacle that keeps everything from being sent; nil when nothing does.
  func closure(_ facts: Facts, at now: UInt64) -> RouteObstacle.Kind? {
    if let lack { return lack.kind }
    if let unconnectedSince, cannotConnect || now &- unconnectedSince >= closedAfter {
      return .unreachable
    }
    return isStalled(facts, at: now) ? .unreachable : nil
  }

  /// Connections that take nothing, or answer nothing, are as good as none until something is
  /// answered. A new connection that takes pushes does not show that the server answers them.
  private func isStalled(_ facts: Facts, at now: UInt64) -> Bool {
    // Nobody knows any more whether a push would be answered.
    let isQuiet = now &- facts.lastSentAt >= Evidence.memory
    if let since = stalledSince {
      let isForgotten =
        isQuiet && !facts.hasSendablePushes && (facts.takes || facts.openConnections == 0)
      guard facts.lastAnsweredAt > since || isForgotten else { return true }
      stalledSince = nil
    }
    let takesNothing =
      !facts.takes && facts.openConnections > 0 && facts.hasSendablePushes
      && now &- facts.lastMovedAt >= stalledAfter
    let answersNothing =
      facts.hasPushes && facts.unanswered.pushes >= Evidence.fewestPushes && !isQuiet
      && now &- facts.unanswered.since >= silentAfter
    guard takesNothing || answersNothing else { return false }
    lastFailure =
      answersNothing
      ? "connected, but it answers nothing" : "connected, but it takes no pushes"
    stalledSince = now
    return true
  }
}
