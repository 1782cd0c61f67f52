/// Whether anything can be sent on a route at all: a pure machine. Times are monotonic nanoseconds.
final class RouteOpenness {
  /// What the route's parts know when it is looked at.
  struct Facts {
    /// Ordinary ones.
    var openConnections: Int
    /// One of them takes pushes now.
    var takes: Bool
    /// Pushes are ready that wait for a connection, and for nothing else.
    var hasSendablePushes: Bool
    /// When a push was sent or answered last, or none was ready.
    var lastMovedAt: UInt64
  }

  private let closedAfter: UInt64
  private let stalledAfter: UInt64
  /// Since when no connection has been open; nil while one is, or none is wanted.
  private var unconnectedSince: UInt64?
  /// The last attempt to connect came to nothing, and no connection has been open since.
  private var cannotConnect = false
  /// Connections are open and took nothing since then; nil while they do.
  private var stalledSince: UInt64?
  /// Nothing proves to Apple who we are; nil when something does.
  private var lack: (kind: RouteObstacle.Kind, until: UInt64)?
  private(set) var lastFailure = "connecting"

  /// - Parameters:
  ///   - closedAfter: without a connection for so long, it is closed.
  ///   - stalledAfter: so it is when connections take nothing for so long.
  init(closedAfter: UInt64, stalledAfter: UInt64) {
    self.closedAfter = closedAfter
    self.stalledAfter = stalledAfter
  }

  // MARK: what happened

  func failed(_ reason: String) { lastFailure = reason }

  func connected() { cannotConnect = false }

  /// Nobody waits a second for a server that has said no.
  func refusedToConnect() { cannotConnect = true }

  /// - Returns: whether that is new.
  func set(isUnconnected: Bool, at now: UInt64) -> Bool {
    guard isUnconnected != (unconnectedSince != nil) else { return false }
    unconnectedSince = isUnconnected ? now : nil
    return true
  }

  func hasProof() { lack = nil }

  /// - Parameter time: no other is made before.
  func lacksProof(_ kind: RouteObstacle.Kind, _ reason: String, until time: UInt64) {
    lack = (kind, time)
    lastFailure = reason
  }

  func mayMakeProof(at now: UInt64) -> Bool { now >= lack?.until ?? 0 }

  // MARK: what follows

  /// What keeps everything from being sent; nil when nothing does.
  func closure(_ facts: Facts, at now: UInt64) -> RouteObstacle.Kind? {
    if let lack { return lack.kind }
    if let unconnectedSince, cannotConnect || now &- unconnectedSince >= closedAfter {
      return .unreachable
    }
    if isStalled(facts, at: now) {
      lastFailure = "connected, but it takes no pushes"
      return .unreachable
    }
    return nil
  }

  /// Connections that take nothing are as good as none, and stay so until they take something.
  private func isStalled(_ facts: Facts, at now: UInt64) -> Bool {
    if facts.takes || facts.openConnections == 0 { stalledSince = nil }
    if let since = stalledSince { return facts.lastMovedAt <= since }
    guard !facts.takes, facts.openConnections > 0, facts.hasSendablePushes,
      now &- facts.lastMovedAt >= stalledAfter
    else { return false }
    stalledSince = now
    return true
  }
}
