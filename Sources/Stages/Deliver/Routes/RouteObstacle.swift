import Model

/// What keeps pushes from being sent for the time being: a state that operators see for as long as
/// it lasts.
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
    /// It takes pushes, but more slowly than they come. What is too much waits elsewhere.
    case slow
  }

  /// What is counted together.
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
  /// What operators know the credentials by that are meant; nil: there are no others.
  package let credentials: String?
  /// nil: all of them.
  package let topic: String?
  /// In words for an operator; no token, no secret.
  package let reason: String
  /// Ms since 1970.
  package let since: Int64

  package init(
    kind: Kind, destination: Destination, credentials: String? = nil, topic: String?,
    reason: String, since: Int64
  ) {
    self.kind = kind
    self.destination = destination
    self.credentials = credentials
    self.topic = topic
    self.reason = reason
    self.since = since
  }
}

extension RouteObstacle {
  package var group: Group { Group(kind: kind, destination: destination) }
}

extension RouteObstacle: CustomStringConvertible {
  package var description: String {
    let place = credentials.map { "\(destination.name) (\($0))" } ?? destination.name
    return switch kind {
    case .unreachable: "\(place): unreachable (\(reason))"
    case .slow: "\(place): slow (\(reason))"
    case .noToken: "\(place): no provider token (\(reason))"
    case .certificateExpired: "\(place): the certificate has expired (\(reason))"
    case .credentialsRefused, .clocksDiffer:
      "\(destination.name) \(topic ?? "every topic"): \(reason)"
    }
  }
}
