import Model

/// What stands in the way of a route's pushes, as operators are told of it.
final class RouteObstacles {
  private let destination: Destination
  private let credentials: String?
  private let options: DeliverOptions
  private let topics: RouteTopics
  /// Nothing can be sent.
  private var closure: RouteObstacle?
  /// It is slow, and others go on.
  private var slowness: RouteObstacle?

  /// - Parameter credentials: what operators know them by; nil: there are no others.
  init(
    destination: Destination, credentials: String? = nil, options: DeliverOptions,
    topics: RouteTopics
  ) {
    self.destination = destination
    self.credentials = credentials
    self.options = options
    self.topics = topics
  }

  /// - Parameter kind: nil: pushes can be sent.
  func set(closure kind: RouteObstacle.Kind?, reason: String) {
    guard kind != closure?.kind else { return }
    end(closure)
    closure = kind.map { begin($0, topic: nil, reason: reason) }
  }

  func set(isSlow: Bool) {
    guard isSlow != (slowness != nil) else { return }
    end(slowness)
    slowness =
      isSlow ? begin(.slow, topic: nil, reason: "pushes come faster than it takes them") : nil
  }

  /// Credentials are refused for a topic; what is told is why they were at first.
  func refused(
    _ topic: TopicQueue, _ kind: RouteObstacle.Kind = .credentialsRefused, reason: String
  ) {
    guard topic.obstacle == nil else { return }
    topic.obstacle = begin(kind, topic: topic.name, reason: reason)
  }

  /// They are taken, or the topic is no longer known.
  func noLongerRefused(_ topic: TopicQueue) {
    end(topic.obstacle)
    topic.obstacle = nil
  }

  private func begin(
    _ kind: RouteObstacle.Kind, topic: String?, reason: String
  ) -> RouteObstacle {
    let obstacle = RouteObstacle(
      kind: kind, destination: destination, credentials: credentials, topic: topic,
      reason: reason, since: options.wallClock())
    options.report(.obstacleBegan(obstacle))
    return obstacle
  }

  private func end(_ obstacle: RouteObstacle?) {
    if let obstacle { options.report(.obstacleEnded(obstacle)) }
  }

  // MARK: what operators see

  var all: [RouteObstacle] {
    [closure, slowness].compactMap { $0 } + topics.all.compactMap(\.obstacle)
  }

  func obstacle(for topic: String) -> RouteObstacle? {
    closure ?? topics.find(topic)?.obstacle ?? slowness
  }
}
