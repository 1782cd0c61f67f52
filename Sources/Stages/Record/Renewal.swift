import Keyspace

/// The result of `RecordStage.renew`.
package enum Renewal: String, Sendable, CaseIterable {
  case held
  /// Somebody else has the claim by now.
  case another
  /// By this run, which may not have heard of it yet, or by another.
  case settled
}
