import Model

/// How often a server gave each answer. What the platform documents is told apart whatever else it
/// says; of what it invents so many.
package struct AnswerCounts: Sendable, Equatable {
  package struct Refusal: Sendable, Hashable {
    /// Of HTTP; 0 for those that are too many.
    package let status: Int
    /// `other` for one that the platform does not document; nil for none.
    package let reason: RejectionReason?
    /// Of another interface than HTTP, whose statuses are others: what operators know it by.
    package let interface: String?

    package init(status: Int, reason: RejectionReason?, interface: String? = nil) {
      self.status = status
      self.reason = reason
      self.interface = interface
    }

    static let others = Refusal(status: 0, reason: .other)
  }

  /// Of refusals that are not documented; each is a series.
  static let maximum = 64

  package private(set) var accepted = 0
  package private(set) var refused: [Refusal: Int] = [:]
  private var invented = 0

  package init() {}

  mutating func accept(_ count: Int) { accepted += count }

  mutating func refuse(_ refusal: Refusal, isDocumented: Bool = false) {
    let isNew = refused[refusal] == nil && !isDocumented
    guard !isNew || invented < Self.maximum else {
      refused[.others, default: 0] += 1
      return
    }
    if isNew { invented += 1 }
    refused[refusal, default: 0] += 1
  }

  /// Here are told apart as many as all routes and lanes tell apart.
  package mutating func add(_ more: AnswerCounts) {
    accepted += more.accepted
    refused.merge(more.refused) { $0 + $1 }
  }
}
