/// The final word on a push.
package enum Outcome: Sendable, Equatable {
  case accepted
  case rejected(RejectionReason)
  case expired
  case cancelled
  case suppressed(SuppressionRule)
}
