/// Counts a server's answers by kind: `maximum` different ones, however many it invents, and the
/// rest together.
package struct BoundedCounts<Kind: Hashable & Sendable>: Sendable, Equatable {
  /// Each is a series of a metric, and a platform documents fewer.
  static var maximum: Int { 64 }

  package private(set) var counts: [Kind: Int]
  private let others: Kind

  /// - Parameter others: the kind of those that are too many.
  init(others: Kind, _ counts: [Kind: Int] = [:]) {
    self.counts = counts
    self.others = others
  }

  /// - Returns: whether it is the first of its kind.
  @discardableResult
  mutating func count(_ kind: Kind) -> Bool {
    let known = counts.count - (counts[others] == nil ? 0 : 1)
    let kept = counts[kind] != nil || known < Self.maximum ? kind : others
    counts[kept, default: 0] += 1
    return counts[kept] == 1
  }

  /// Keeps as many different ones as all routes and lanes do.
  mutating func add(_ more: Self) { counts.merge(more.counts) { $0 + $1 } }
}
