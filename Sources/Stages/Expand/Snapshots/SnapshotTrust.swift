/// Which snapshots can be trusted, as of a moment in a membership.
struct SnapshotTrust {
  /// The writer of the membership, which no other has: with it the trust ends.
  let membership: UInt64
  private let batches: [UInt64: UInt32]
  /// The last that was looked up.
  private var last: SnapshotStamp?

  init(membership: UInt64, batches: [UInt64: UInt32]) {
    self.membership = membership
    self.batches = batches
  }

  mutating func includes(_ stamp: SnapshotStamp) -> Bool {
    if last?.writer != stamp.writer {
      guard let batch = batches[stamp.writer] else { return false }
      last = SnapshotStamp(writer: stamp.writer, batch: batch)
    }
    return last.map { stamp.batch <= $0.batch } == true
  }
}
