/// What became of Apple's verdicts on tokens.
package struct PruneFindings: Sendable, Equatable {
  /// Bindings taken out after a 410.
  package var pruned = 0
  /// 410s that were older than the binding: kept.
  package var refused = 0
  /// 410s of which nothing shows whether they are older than the binding, because Apple's
  /// timestamp or the time of the binding is missing or impossible: kept, for some days.
  package var undated = 0
  /// 410s after which nothing was removed, because too many of the app's answers are 410s.
  package var pruneWithheld = 0
  /// Bindings set aside as unusable.
  package var quarantined = 0
  /// Unusable tokens that were left alone because there were too many: alert, the environment or
  /// the topic is probably misconfigured.
  package var withheld = 0
  /// Commands that Redis refused, because a key holds something else.
  package var failed = 0

  package init() {}

  package mutating func add(_ other: PruneFindings) {
    pruned += other.pruned
    refused += other.refused
    undated += other.undated
    pruneWithheld += other.pruneWithheld
    quarantined += other.quarantined
    withheld += other.withheld
    failed += other.failed
  }
}
