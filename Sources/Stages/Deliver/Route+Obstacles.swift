import EventLoop
import Model

/// Whether pushes can be sent at all, and what operators are told of it.
extension Route {
  /// The provider token to send with; nil when none can be made, which is tried again later.
  func providerToken(now: UInt64) -> ProviderToken? {
    guard now >= noTokenUntil else { return nil }
    do {
      let token = try tokens.token(now: options.wallClock())
      noTokenUntil = 0
      return token
    } catch {
      noTokenUntil = now &+ options.credentialHold.nanoseconds
      lastFailure = "\(error)"
      updateOpenness()
      return nil
    }
  }

  /// Looks at what stands in the way; called whenever that may have changed.
  func updateOpenness() {
    let kind = closure
    isOpen = kind == nil
    let patience = options.closedAfter.nanoseconds
    for topic in topics {
      let isClosed = topic.gate.isClosed(at: loop.now, patience: patience)
      topic.set(open: isOpen && !isClosed, lags: lags)
    }
    if kind != obstacle?.kind {
      if let obstacle { options.report(.obstacleEnded(obstacle)) }
      obstacle = kind.map { begin($0, topic: nil, reason: lastFailure) }
    }
    if waitingCount > options.waitingPushes { postponeExcess() }
    whenReadyMayHaveShrunk()
  }

  private var closure: RouteObstacle.Kind? {
    let now = loop.now
    if noTokenUntil > 0 { return .noToken }
    if let unconnectedSince,
      cannotConnect || now &- unconnectedSince >= options.closedAfter.nanoseconds
    {
      return .unreachable
    }
    if isStalled(now) {
      lastFailure = "connected, but it takes no pushes"
      return .unreachable
    }
    return nil
  }

  /// Connections that take nothing are as good as none, and stay so until they take something.
  private func isStalled(_ now: UInt64) -> Bool {
    let takes = places[ordinaryPlaces].contains { ($0.connection?.capacity ?? 0) > 0 }
    if takes || openConnections == 0 { stalledSince = nil }
    if let since = stalledSince { return lastMovedAt <= since }
    guard !takes, openConnections > 0,
      topics.contains(where: { $0.queue.count > 0 && $0.gate.isOpen }),
      now &- lastMovedAt >= options.stalledAfter.nanoseconds
    else { return false }
    stalledSince = now
    return true
  }

  // MARK: slowness

  func lookAtCongestion(_ now: UInt64) {
    let oldest = topics.lazy.filter { $0.isOpen && $0.gate.isOpen }.compactMap(\.queue.oldest).min()
    // What nothing can be sent over is closed, or will be: that is another matter.
    if !isOpen || openConnections == 0 { lastUnableAt = now }
    congestion.look(
      oldest: oldest.map { max($0, lastUnableAt) }, bound: options.readyPushes,
      patience: options.congestedAfter.nanoseconds,
      at: now)
  }

  var isSlow: Bool { isOpen && congestion.isSlow }
  var isLagging: Bool { isOpen && congestion.isLagging }

  /// Whether somebody could be held up by another route. Production is what a worker is for; pushes
  /// of the sandbox are the exception.
  func isInUse(at now: UInt64) -> Bool {
    isOpen
      && (environment == .production
        || (lastAppendedAt > 0 && now &- lastAppendedAt < Congestion.memory))
  }

  func set(lags: Bool, yields: Bool) {
    if lags != self.lags {
      self.lags = lags
      for topic in topics { topic.set(open: topic.isOpen, lags: lags) }
    }
    guard yields != self.yields else { return }
    self.yields = yields
    if yields {
      slowness = begin(.slow, topic: nil, reason: "pushes come faster than it takes them")
    } else if let ended = slowness {
      options.report(.obstacleEnded(ended))
      slowness = nil
    }
    whenReadyMayHaveShrunk()
  }

  private func begin(
    _ kind: RouteObstacle.Kind, topic: String?, reason: String
  ) -> RouteObstacle {
    let obstacle = RouteObstacle(
      kind: kind, environment: environment, topic: topic, reason: reason,
      since: options.wallClock())
    options.report(.obstacleBegan(obstacle))
    return obstacle
  }

  // MARK: credentials

  func credentialsHeld(_ topic: TopicQueue, reason: RejectionReason) {
    if topic.obstacle == nil {
      topic.obstacle = begin(.credentialsRefused, topic: topic.name, reason: words(for: reason))
    }
    updateOpenness()
  }

  /// A server that is in doubt about us may also be one that does not answer everybody: a topic's
  /// pushes do not wait for the time-out of a few.
  func askElsewhere(at now: UInt64) {
    for topic in topics where topic.gate.isWatching {
      let patience = min(topic.gate.patience, options.requestTimeout.nanoseconds)
      let connections = places.compactMap(\.connection) + retiring
      let oldest = connections.compactMap { $0.oldestProbe(of: topic.name) }.min()
      guard let oldest, now &- oldest >= patience else { continue }
      // Those that went a little later are of the same round.
      let givenUp = connections.reduce(0) {
        $0 + $1.giveUpProbes(of: topic.name, sentBefore: now &- patience / 2)
      }
      topic.gate.probesGivenUp(givenUp)
    }
  }

  private func words(for reason: RejectionReason) -> String {
    reason == .other ? "403 without a reason that Apple documents" : reason.name
  }

  func credentialsTaken(_ topic: TopicQueue) {
    if let obstacle = topic.obstacle { options.report(.obstacleEnded(obstacle)) }
    topic.obstacle = nil
    updateOpenness()
    schedulePump()
  }

  // MARK: what operators see

  var obstacles: [RouteObstacle] {
    [obstacle, slowness].compactMap { $0 } + topics.compactMap(\.obstacle)
  }

  func isClosed(for topic: String) -> Bool {
    !isOpen || topics.first { $0.name == topic }?.isOpen == false
  }

  func obstacle(for topic: String) -> RouteObstacle? {
    obstacle ?? topics.first { $0.name == topic }?.obstacle ?? slowness
  }
}
