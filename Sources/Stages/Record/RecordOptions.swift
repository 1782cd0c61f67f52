/// Limits and lifetimes of Record. The lifetimes of keys are the Keyspace's.
package struct RecordOptions: Sendable {
  /// Verdicts that one script takes. A script holds up the whole Redis server: 256 verdicts are
  /// about a millisecond.
  package var verdictsPerScript: Int
  /// Share of the answered pushes of a segment above which "unusable token" is read as a mistake
  /// of ours (wrong environment, wrong app), so that no binding is set aside.
  package var unusableShare: Double
  /// Below this many unusable tokens in a segment the share says nothing.
  package var unusableMinimum: Int

  package init(
    verdictsPerScript: Int = 256, unusableShare: Double = 0.2, unusableMinimum: Int = 20
  ) {
    self.verdictsPerScript = max(1, verdictsPerScript)
    self.unusableShare = unusableShare
    self.unusableMinimum = unusableMinimum
  }
}
