import Model

/// A state that keeps pushes from being sent, which operators see for as long as it lasts.
package struct RouteObstacle: Sendable, Equatable {
  package enum Kind: String, Sendable, Equatable, CaseIterable {
    /// No connection is open, or those that are take nothing.
    case unreachable
    /// Our credentials are refused for the topic.
    case credentialsRefused = "credentials_refused"
    /// Credentials are said to have expired for the topic that are too young for that: a clock is
    /// wrong, and no others would help.
    case clocksDiffer = "clocks_differ"
    /// Our key signs no token.
    case noToken = "no_provider_token"
    /// Our certificate has ended.
    case certificateExpired = "certificate_expired"
    /// It takes pushes, but more slowly than they come. Those that are too many wait elsewhere.
    case slow
  }

  /// Obstacles that are counted together.
  package struct Group: Sendable, Hashable {
    package let kind: Kind
    package let destination: Destination

    package init(kind: Kind, destination: Destination) {
      self.kind = kind
      self.destination = destination
    }
  }

  package let kind: Kind
  package let destination: Destination
  /// The name by which operators know the credentials; nil where there are no others.
  package let credentials: String?
  /// nil: all of them.
  package let topic: String?
  /// In words for an operator; no token, no secret.
  package fileprivate(set) var reason: String
  /// Ms since 1970.
  package let since: Int64

  package var group: Group { Group(kind: kind, destination: destination) }
}

extension RouteObstacle: CustomStringConvertible {
  package var description: String {
    let name = credentials.map { "\(destination.name) (\($0))" } ?? destination.name
    return switch kind {
    case .unreachable: "\(name): unreachable (\(reason))"
    case .slow: "\(name): slow (\(reason))"
    case .noToken: "\(name): no credentials (\(reason))"
    case .certificateExpired: "\(name): the certificate has expired (\(reason))"
    case .credentialsRefused, .clocksDiffer:
      "\(destination.name) \(topic ?? "every topic"): \(reason)"
    }
  }
}

/// The obstacles of a route. The log says when each begins, and when pushes can be sent again.
final class RouteObstacles {
  private let destination: Destination
  private let credentials: String?
  private let options: DeliverOptions
  private let queue: FairQueue
  /// Nothing can be sent.
  private var closure: RouteObstacle?
  /// It is slow, and others go on.
  private var slowness: RouteObstacle?

  init(
    destination: Destination, credentials: String? = nil, options: DeliverOptions,
    queue: FairQueue
  ) {
    self.destination = destination
    self.credentials = credentials
    self.options = options
    self.queue = queue
  }

  /// - Parameters:
  ///   - kind: nil: pushes can be sent.
  ///   - reason: the latest, which is shown from now on. While the kind stays, it is not told
  ///     again: a server that is away fails in many ways.
  func set(closure kind: RouteObstacle.Kind?, reason: String) {
    guard kind != closure?.kind else {
      if kind != nil, closure?.reason != reason { closure?.reason = reason }
      return
    }
    replace(&closure, by: kind, reason: reason)
  }

  func set(isSlow: Bool) {
    guard isSlow != (slowness != nil) else { return }
    replace(
      &slowness, by: isSlow ? .slow : nil, reason: "pushes come faster than it takes them")
  }

  /// Credentials are refused for a topic. Only the first reason is reported.
  func refused(
    _ topic: TopicQueue, _ kind: RouteObstacle.Kind = .credentialsRefused, reason: String
  ) {
    guard topic.obstacle == nil else { return }
    replace(&topic.obstacle, by: kind, topic: topic.name, reason: reason)
  }

  /// They are taken, or the topic is no longer known.
  func noLongerRefused(_ topic: TopicQueue) { replace(&topic.obstacle, by: nil, reason: "") }

  private func replace(
    _ obstacle: inout RouteObstacle?, by kind: RouteObstacle.Kind?, topic: String? = nil,
    reason: String
  ) {
    // Where another takes its place, nothing can be sent as yet.
    if let obstacle, kind == nil { options.report(.obstacleEnded(obstacle)) }
    obstacle = kind.map {
      RouteObstacle(
        kind: $0, destination: destination, credentials: credentials, topic: topic,
        reason: reason, since: options.wallClock())
    }
    if let obstacle { options.report(.obstacleBegan(obstacle)) }
  }

  var all: [RouteObstacle] {
    [closure, slowness].compactMap { $0 } + queue.topics.compactMap(\.obstacle)
  }

  func obstacle(for topic: String) -> RouteObstacle? {
    closure ?? queue.find(topic)?.obstacle ?? slowness
  }
}
