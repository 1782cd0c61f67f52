import Model

/// Counts each answer of a server: `maximum` different refusals, which is more than a platform
/// documents, however many a server invents.
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

  /// Each is a series.
  static let maximum = 64

  package private(set) var accepted = 0
  package private(set) var refused: [Refusal: Int] = [:]

  package init() {}

  mutating func accept(_ count: Int) { accepted += count }

  mutating func refuse(_ refusal: Refusal) {
    let isKept = refused[refusal] != nil || refused.count < Self.maximum
    refused[isKept ? refusal : .others, default: 0] += 1
  }

  /// Keeps as many different ones as all routes and lanes do.
  package mutating func add(_ more: AnswerCounts) {
    accepted += more.accepted
    refused.merge(more.refused) { $0 + $1 }
  }
}
