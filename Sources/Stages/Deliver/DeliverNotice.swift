import Model
import Transport

/// A notice of Deliver's to the operator. None of it holds a device token or a secret.
package enum DeliverNotice: Sendable, Equatable {
  case connected(Endpoint)
  /// `retryAfter`: when the next connection is tried.
  case disconnected(Endpoint, reason: String, retryAfter: Duration)
  /// The server's GOAWAY: a connection takes no more pushes. `retryAfter`: when another takes its
  /// place.
  case goingAway(Endpoint, reason: String, retryAfter: Duration)
  /// A connection takes no more pushes for a reason of ours.
  case retired(Endpoint, reason: String, retryAfter: Duration)
  /// A lane has another number of connections from now on, by its load.
  case resized(Endpoint, connections: Int)
  case unanswered(Endpoint, pushes: Int)
  /// Connections ended with pushes in flight, which are sent again: all since the last such notice.
  case lost(Endpoint, connections: Int, pushes: Int, reason: String)
  /// Of the binary interface: pushes were taken for accepted before the gateway said that it had
  /// refused them, or thrown them away.
  case refusedLate(Endpoint, pushes: Int)
  /// Apple says that what we send is wrong; the push is rejected and the next ones will be too.
  case configurationRejected(Endpoint, reason: RejectionReason)
  /// The server says something that Apple does not document: the first time that it does.
  case unknownAnswer(Endpoint, UnknownAnswer)
  /// Pushes of a route or topic cannot be sent from now on.
  case obstacleBegan(RouteObstacle)
  /// They can again.
  case obstacleEnded(RouteObstacle)
}
