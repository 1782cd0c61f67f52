/// A verdict with what it goes by, in words for people.
package struct Finding: Sendable, Equatable {
  package let verdict: TraceVerdict
  /// Apple's reason, the name of a rule, or what stopped the event; empty where the verdict says
  /// all.
  package let reason: String
  /// What happened.
  package let explanation: String
  /// What to do about it; empty where there is nothing to be done.
  package let next: String

  init(_ verdict: TraceVerdict, reason: String = "", _ explanation: String, next: String = "") {
    self.verdict = verdict
    self.reason = reason
    self.explanation = explanation
    self.next = next
  }
}
