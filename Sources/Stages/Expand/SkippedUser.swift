/// Somebody who is passed over, for the log: the counters only say how many.
package struct SkippedUser: Sendable, Equatable {
  package let user: String
  /// A sentence that names what to mend.
  package let reason: String
}
