import Record

/// The counters of one fan-out as Redis has them.
package struct FanOutCounters: Sendable, Equatable {
  package var recipients = 0
  package var pushes = 0
  package var accepted = 0
  /// By Apple's name of the reason; ours among them.
  package var rejected: [String: Int] = [:]
  package var expired = 0
  package var cancelled = 0
  package var suppressed = 0
  /// By the name of the rule.
  package var suppressedByRule: [String: Int] = [:]
  package var pruned = 0

  package init() {}

  package init(_ status: FanOutStatus) {
    self.init()
    recipients = status.recipients
    pushes = status.pushes
    accepted = status.accepted
    rejected = status.rejected
    expired = status.expired
    cancelled = status.cancelled
    suppressed = status.suppressed
    suppressedByRule = status.suppressedByRule
    pruned = status.pruned
  }

  /// Reasons of our own: the simulator was not asked.
  package static let ownReasons: Set<String> = ["Unrenderable", "NoRoute"]

  /// Pushes that have an outcome without an answer of the simulator.
  package var outcomesWithoutSending: Int {
    expired + cancelled + Self.ownReasons.reduce(0) { $0 + (rejected[$1] ?? 0) }
  }

  package var outcomes: Int {
    accepted + rejected.values.reduce(0, +) + expired + cancelled + suppressed
  }
}
