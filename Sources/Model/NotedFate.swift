/// The noted outcome of a push, or of a user.
package enum NotedFate: Sendable, Equatable {
  case outcome(Outcome)
  /// It left its segment and is tried again later.
  case waiting
  /// The user was passed over, because Redis held something else than the contract says.
  case skipped

  /// As Redis holds it: Apple's reason, or a word in small letters.
  package var name: String {
    switch self {
    case .outcome(.accepted): "accepted"
    case .outcome(.rejected(let reason)): reason.name
    case .outcome(.expired): "expired"
    case .outcome(.cancelled): "cancelled"
    case .outcome(.suppressed(let rule)): rule.name
    case .waiting: "waiting"
    case .skipped: "skipped"
    }
  }
}
