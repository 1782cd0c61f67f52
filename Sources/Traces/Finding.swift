/// A verdict with what it goes by, in words for people.
package struct Finding: Sendable, Equatable {
  package let verdict: TraceVerdict
  /// Apple's reason, the name of a rule, or what stopped the event; empty where the verdict says
  /// all.
  package let reason: String
  package let explanation: String
  /// The advice; empty where there is nothing to be done.
  package let next: String

  init(_ verdict: TraceVerdict, reason: String = "", _ explanation: String, next: String = "") {
    self.verdict = verdict
    self.reason = reason
    self.explanation = explanation
    self.next = next
  }
}

/// The outcome of a push, or of all of a user's: stable words for programs, as docs/api.md lists
/// them. In the order in which one says more of a user with several devices than another.
package enum TraceVerdict: String, Sendable, CaseIterable, Comparable {
  case accepted
  /// Nothing speaks against it, and all that was not accepted is kept.
  case presumablyAccepted = "presumably-accepted"
  case waiting
  case rejected
  case expired
  case cancelled
  case suppressed
  case skipped
  case running
  case paused
  case lost
  case boundLater = "bound-later"
  case notKept = "not-kept"
  case notAddressed = "not-addressed"
  case notFollowing = "not-following"
  case notInAudience = "not-in-audience"
  case setAside = "set-aside"
  case otherTopic = "other-topic"
  case noDevice = "no-device"
  case noFollowers = "no-followers"
  case notSent = "not-sent"

  package static func < (left: TraceVerdict, right: TraceVerdict) -> Bool {
    (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
  }
}
