import Model

/// Counts each answer of a server.
package struct AnswerCounts: Sendable, Equatable {
  package struct Refusal: Sendable, Hashable {
    /// Of HTTP; 0 for those that are too many.
    package let status: Int
    /// `other` for one that the platform does not document; nil for none.
    package let reason: RejectionReason?
    /// The name of another interface than HTTP, whose statuses are others.
    package let interface: String?

    package init(status: Int, reason: RejectionReason?, interface: String? = nil) {
      self.status = status
      self.reason = reason
      self.interface = interface
    }

    static let others = Refusal(status: 0, reason: .other)
  }

  package internal(set) var accepted = 0
  private var refusals = BoundedCounts(others: Refusal.others)

  package init() {}

  package var refused: [Refusal: Int] { refusals.counts }

  mutating func refuse(_ refusal: Refusal) { refusals.count(refusal) }

  package mutating func add(_ more: AnswerCounts) {
    accepted += more.accepted
    refusals.add(more.refusals)
  }
}
