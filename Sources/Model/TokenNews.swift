/// A change of a device's token that its own user did not ask for, told to other systems that keep
/// devices.
package struct TokenNews: Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    /// Apple calls it gone (410), with Apple's timestamp in ms since 1970: it is bound no more.
    case pruned(since: Int64)
    /// Apple calls it unusable for its topic: it is set aside.
    case quarantined
    /// Another user has logged in with it.
    case moved(to: String)
    /// It was set aside, and is its user's again.
    case restored
  }

  package let kind: Kind
  /// The user who had the token, or has it again.
  package let user: String
  package let destination: Destination
  package let topic: String
  package let token: String
  /// Apple's, as Apple spells it.
  package let reason: String?
  /// The event of the push.
  package let event: String?
  /// Ms since 1970.
  package let at: Int64

  package init(
    _ kind: Kind, user: String, _ binding: Binding, reason: String? = nil, event: String? = nil,
    at: Int64
  ) {
    self.kind = kind
    self.user = user
    destination = binding.destination
    topic = binding.topic
    token = binding.token
    self.reason = reason
    self.event = event
    self.at = at
  }
}
