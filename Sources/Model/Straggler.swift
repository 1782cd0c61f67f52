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

/// The stragglers of one segment, as many as one record takes.
package struct StragglerList: Sendable, Equatable {
  /// Stands between the name of the segment that the pushes came from and the list's own number.
  package static let mark: Character = "~"

  /// The segment's id; unique for each list ever written.
  package let id: String
  /// The id of the segment that the pushes left. Only when that is settled is it certain that the
  /// pushes are this list's to send.
  package let parent: String
  package let pushes: [Straggler]

  /// One, but in records of older workers.
  package var destinations: Set<Destination> { Set(pushes.map(\.destination)) }

  /// When Apple may be asked about all of them; 0: at any time.
  package var askAgainAt: Int64 { pushes.reduce(0) { max($0, $1.askAgainAt) } }

  package init(id: String, parent: String, pushes: [Straggler]) {
    self.id = id
    self.parent = parent
    self.pushes = pushes
  }
}
