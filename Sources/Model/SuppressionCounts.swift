/// Pushes that were not sent, by the rule that kept them.
package struct SuppressionCounts: Sendable, Equatable {
  private var counts = [Int](repeating: 0, count: SuppressionRule.allCases.count)

  package init() {}

  package subscript(rule: SuppressionRule) -> Int {
    get { counts[Int(rule.rawValue)] }
    set { counts[Int(rule.rawValue)] = newValue }
  }

  package var total: Int { counts.reduce(0, +) }

  /// The rules that kept any, with their counts.
  package var byRule: [(rule: SuppressionRule, count: Int)] {
    SuppressionRule.allCases.compactMap { self[$0] == 0 ? nil : ($0, self[$0]) }
  }
}
