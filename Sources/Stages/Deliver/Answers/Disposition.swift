import Model

/// The reaction to an answer, as its platform's table has it. A retry comes after a short jittered
/// back-off inside the event's time: news lives for minutes.
package enum Disposition: Sendable, Equatable {
  case accepted
  /// Final; the token is fine.
  case reject(RejectionReason)
  /// Final, and our own configuration or code is at fault: tell the operator.
  case rejectAndAlert(RejectionReason)
  /// Final; the token is gone since the platform's timestamp: prune it unless its binding is
  /// younger.
  case prune(RejectionReason)
  /// Final; the token is not one, or not for this app or environment: set it aside.
  case setAside(RejectionReason)
  /// Send again after a back-off.
  case retry(RejectionReason)
  /// Send again on another connection; this one takes no more.
  case retryElsewhere(RejectionReason)
  /// The credential is too old: renew it and send again on a new connection.
  case renew(RejectionReason)
  /// Our credentials are refused: other pushes of the topic ask what that means. It waits, is never
  /// rejected, and the operator is told.
  case hold(RejectionReason)
}
