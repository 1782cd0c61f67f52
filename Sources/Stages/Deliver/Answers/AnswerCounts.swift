import Model

/// How often a server gave each answer. So many refusals are told apart, whatever statuses it
/// invents.
package struct AnswerCounts: Sendable, Equatable {
  package struct Refusal: Sendable, Hashable {
    /// Of HTTP, or of a gateway of the legacy interface; 0 for those that are too many.
    package let status: Int
    /// `other` for one that Apple does not document; nil for none.
    package let reason: RejectionReason?
  }

  /// Apple documents some forty; each is a series.
  static let maximum = 64

  package private(set) var accepted = 0
  package private(set) var refused: [Refusal: Int] = [:]

  package init() {}

  mutating func accept(_ count: Int) { accepted += count }

  mutating func refuse(status: Int, _ reason: RejectionReason?) {
    let refusal = Refusal(status: status, reason: reason)
    let isKept = refused[refusal] != nil || refused.count < Self.maximum
    refused[isKept ? refusal : Refusal(status: 0, reason: .other), default: 0] += 1
  }

  /// Here are told apart as many as all routes and lanes tell apart.
  package mutating func add(_ more: AnswerCounts) {
    accepted += more.accepted
    refused.merge(more.refused) { $0 + $1 }
  }
}
