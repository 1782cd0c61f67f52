/// Which rule kept a push from its recipient. The raw value is an index, not a contract; `name` is
/// what Redis, metrics and reports hold.
package enum SuppressionRule: UInt8, Sendable, CaseIterable {
  /// The recipient has muted everything, or this streamer.
  case muted
  /// It is one of the recipient's quiet hours.
  case quiet
  /// The recipient got as many pushes as may come in an hour.
  case cap
  /// Another device of the recipient gets it.
  case device

  package var name: String { String(describing: self) }
}

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
