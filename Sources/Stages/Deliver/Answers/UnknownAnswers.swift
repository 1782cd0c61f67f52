/// How often a server gave each answer that the platform does not document. So many are told apart,
/// in whatever way it invents them.
package struct UnknownAnswers: Sendable, Equatable {
  static let maximum = 16

  package private(set) var counts = [UnknownAnswer.others: 0]

  package init() {}

  /// - Returns: whether it is the first of its kind.
  mutating func count(_ answer: UnknownAnswer) -> Bool {
    let isKnown = counts[answer] != nil
    // Those that are too many have a place of their own.
    let kept = isKnown || counts.count <= Self.maximum ? answer : .others
    counts[kept, default: 0] += 1
    return counts[kept] == 1
  }

  /// Here are told apart as many as all routes and lanes tell apart.
  package mutating func add(_ more: UnknownAnswers) {
    counts.merge(more.counts) { $0 + $1 }
  }
}
