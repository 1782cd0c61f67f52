/// Whom an event addresses.
package enum EventAudience: Sendable, Equatable {
  /// The streamer's followers, as when an event says nothing else.
  case followers
  /// These users, whoever they follow; each once.
  case users([String])
  /// The users for whom an expression holds.
  case matching(AudienceExpression)

  /// Users that an event may name.
  package static let maximumUsers = 1_000
}
