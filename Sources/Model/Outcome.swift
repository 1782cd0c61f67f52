/// The final word on a push.
package enum Outcome: Sendable, Equatable {
  case accepted
  case rejected(RejectionReason)
  case expired
  case cancelled
  case suppressed(SuppressionRule)
}

extension Outcome {
  /// As counters are called: `accepted`, `rejected`, `expired`, `cancelled`, `suppressed`.
  package var name: String {
    switch self {
    case .accepted: "accepted"
    case .rejected: "rejected"
    case .expired: "expired"
    case .cancelled: "cancelled"
    case .suppressed: "suppressed"
    }
  }

  /// The platform's name of the reason, or the name of the rule; nil where the name says it all.
  package var reason: String? {
    switch self {
    case .rejected(let reason): reason.name
    case .suppressed(let rule): rule.name
    case .accepted, .expired, .cancelled: nil
    }
  }
}
