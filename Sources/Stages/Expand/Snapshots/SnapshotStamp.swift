/// Who wrote a snapshot, and in which of the writer's batches. One can be trusted when its batch is
/// among those that the writer has vouched for: see `SnapshotMembership`.
struct SnapshotStamp: Equatable {
  /// At random, another for each membership.
  let writer: UInt64
  let batch: UInt32
}
