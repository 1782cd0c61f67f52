/// Up to where each partition has been read, and what was taken out of it before anybody had read
/// it: a pure machine.
///
/// Offsets have gaps of other kinds, too: the ends of transactions, aborted records, compaction. A
/// record is lost only where the partition itself begins later than reading was to go on.
package struct ReadPositions: Equatable {
  /// The next offset to read; nothing where that is not known.
  private var next: [KafkaPartition: Int64] = [:]

  package init() {}

  /// - Parameter committed: where reading begins; nil when nothing was committed, so that nobody
  ///   misses what went before.
  package mutating func assigned(_ partition: KafkaPartition, committed: Int64?) {
    next[partition] = committed
  }

  package mutating func revoked(_ partitions: some Sequence<KafkaPartition>) {
    for partition in partitions { next[partition] = nil }
  }

  /// Whether reading is known to be there already.
  package func `is`(_ partition: KafkaPartition, at offset: Int64) -> Bool {
    offset == next[partition]
  }

  /// Reading has come to an offset: of a record, or of the end of the partition.
  ///
  /// - Parameters:
  ///   - following: the next offset to read then.
  ///   - first: the offset at which the partition begins now; nil when that is not known. Asked
  ///     only where offsets have a gap.
  /// - Returns: the offsets that were to be read and that the partition does not have any more.
  package mutating func reached(
    _ partition: KafkaPartition, _ offset: Int64, following: Int64, first: () -> Int64?
  ) -> Range<Int64>? {
    defer { next[partition] = following }
    guard let expected = next[partition], offset > expected, let first = first(),
      first > expected
    else { return nil }
    return expected..<min(first, offset)
  }
}
