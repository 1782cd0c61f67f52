/// Observes the outcomes of a segment's pushes as they are counted. Most segments have none: then
/// an outcome costs one branch.
package protocol OutcomeObserver: AnyObject {
  /// Whether it takes an outcome now. One that only samples says no most of the time: then an
  /// outcome costs a call.
  var isListening: Bool { get }

  func settled(_ push: SettledPush)
}

/// A push that has just got its outcome. Its bytes stand during the call only.
package struct SettledPush {
  package let outcome: Outcome
  /// Nil: all pushes of a page that one rule kept.
  package let destination: Destination?
  /// Empty where there is no destination.
  package let token: UnsafeRawBufferPointer
  /// The app, and the suffix of the push type behind it.
  package let topic: String
  /// Requests that left for it.
  package let sends: Int
  /// Monotonic nanoseconds of the request that was answered; 0: no answer gave the outcome.
  package let sentAt: UInt64
}

extension OutcomeObserver {
  package var isListening: Bool { true }

  /// Pushes that a rule kept, before they were any.
  package func suppressed(by rule: SuppressionRule, topic: String) {
    settled(
      SettledPush(
        outcome: .suppressed(rule), destination: nil,
        token: UnsafeRawBufferPointer(start: nil, count: 0), topic: topic, sends: 0, sentAt: 0))
  }

  /// A push that was never rendered, because its event was over.
  package func settled(
    _ binding: RecipientPage.Binding, of page: RecipientPage, as outcome: Outcome, topic: String,
    sends: Int
  ) {
    settled(
      SettledPush(
        outcome: outcome, destination: binding.destination, token: page.bytes[binding.token],
        topic: topic, sends: sends, sentAt: 0))
  }

  /// A push that had left its segment before.
  func settled(_ straggler: Straggler, as outcome: Outcome, topic: String) {
    var token = Binding.token(ofMember: straggler.member)
    token.withUTF8 {
      settled(
        SettledPush(
          outcome: outcome, destination: straggler.destination, token: UnsafeRawBufferPointer($0),
          topic: topic, sends: straggler.history.sends, sentAt: 0))
    }
  }
}
