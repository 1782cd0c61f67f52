/// A push that only waits for another try, or for a route that is closed: it leaves its segment
/// without an outcome and gets one in a segment of its own.
package struct Straggler: Sendable, Equatable {
  package let user: String
  /// The member of the user's set of bindings.
  package let member: String
  package let history: PushHistory
  /// Apple asked not to be asked before, in ms since 1970; 0: it did not say. It stands beside the
  /// record of the list, not in it.
  package let askAgainAt: Int64

  package init(user: String, member: String, history: PushHistory, askAgainAt: Int64 = 0) {
    self.user = user
    self.member = member
    self.history = history
    self.askAgainAt = askAgainAt
  }

  package var destination: Destination { Destination(ofMember: member) ?? .production }
}
