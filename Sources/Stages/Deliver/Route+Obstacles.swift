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
      topic.setOpen(isOpen && !topic.gate.isClosed(at: loop.now, patience: patience))
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
    let takes = seats.dropLast().contains { ($0.connection?.capacity ?? 0) > 0 }
    if takes || openConnections == 0 { stalledSince = nil }
    if let since = stalledSince { return lastMovedAt <= since }
    guard !takes, openConnections > 0,
      topics.contains(where: { $0.queue.count > 0 && $0.gate.isOpen }),
      now &- lastMovedAt >= options.stalledAfter.nanoseconds
    else { return false }
    stalledSince = now
    return true
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

  var obstacles: [RouteObstacle] { (obstacle.map { [$0] } ?? []) + topics.compactMap(\.obstacle) }

  func obstacle(for topic: String) -> RouteObstacle? {
    obstacle ?? topics.first { $0.name == topic }?.obstacle
  }
}
