/// An answer to a push that the platform does not document: a proxy's, or a new reason.
package struct UnknownAnswer: Sendable, Hashable {
  /// Twice as many as any that is documented.
  private static let maximumReason = 64

  package let status: Int
  /// Visible ASCII; empty when there was none, or none that can be shown.
  package let reason: String

  /// - Parameter reason: of any bytes; empty when there was none.
  package init(status: Int, reason: String) {
    let visible = reason.utf8.prefix(Self.maximumReason).filter { 0x21...0x7E ~= $0 }
    self.status = status
    self.reason = String(decoding: visible, as: UTF8.self)
  }

  /// Counts those beyond `UnknownAnswers.maximum`.
  static let others = UnknownAnswer(status: 0, reason: "others")

  package var words: String {
    reason.isEmpty
      ? "\(status) without a reason" : "\(status) \(reason), which is not documented"
  }
}

/// Counts the answers of a server that the platform does not document: `maximum` different ones,
/// however many it invents.
package struct UnknownAnswers: Sendable, Equatable {
  static let maximum = 16

  package private(set) var counts = [UnknownAnswer.others: 0]

  package init() {}

  /// - Returns: whether it is the first of its kind.
  mutating func count(_ answer: UnknownAnswer) -> Bool {
    let isKnown = counts[answer] != nil
    let kept = isKnown || counts.count <= Self.maximum ? answer : .others
    counts[kept, default: 0] += 1
    return counts[kept] == 1
  }

  /// Keeps as many different ones as all routes and lanes do.
  package mutating func add(_ more: UnknownAnswers) {
    counts.merge(more.counts) { $0 + $1 }
  }
}
