import Kafka

/// Which offsets may be committed: a pure machine. Records of a partition begin in order and
/// finish in any; only what lies below the first unfinished one may be committed, so that a crash
/// skips nothing.
package struct OffsetLedger: Sendable, Equatable {
  /// One assignment of a partition. A record that began under an earlier one must not move this
  /// one's offset.
  private struct Assignment: Sendable, Equatable {
    let number: Int
    /// Records that began and have not finished; bounded by what the lanes take.
    var open: Set<Int64> = []
    /// The first offset that began; nil when none has.
    var first: Int64?
    /// One past the offset that began last. Not the highest: when a topic was made anew its
    /// offsets begin again, and committing the old end would skip what comes.
    var next: Int64?
    var committed: Int64?

    /// What may be committed: everything before it is done.
    var committable: Int64? { open.min() ?? next }
  }

  private var assignments: [KafkaPartition: Assignment] = [:]
  private var lastNumber = 0

  package init() {}

  /// Partitions that are ours from now on; what was known of them is forgotten.
  package mutating func assigned(_ partitions: [KafkaPartition]) {
    for partition in partitions {
      lastNumber += 1
      assignments[partition] = Assignment(number: lastNumber)
    }
  }

  /// Partitions that are ours no longer. Their records may still finish; that changes nothing.
  package mutating func revoked(_ partitions: [KafkaPartition]) {
    for partition in partitions { assignments[partition] = nil }
  }

  /// A record was handed to a lane. Returns the assignment's number for `finished`, nil when the
  /// partition is not ours: then the record is another's and must not be worked on.
  package mutating func began(_ partition: KafkaPartition, _ offset: Int64) -> Int? {
    guard var assignment = assignments[partition] else { return nil }
    assignment.open.insert(offset)
    if assignment.first == nil { assignment.first = offset }
    assignment.next = offset + 1
    assignments[partition] = assignment
    return assignment.number
  }

  package mutating func finished(_ partition: KafkaPartition, _ offset: Int64, _ number: Int) {
    guard assignments[partition]?.number == number else { return }
    assignments[partition]?.open.remove(offset)
  }

  /// The offsets to commit (of the next record to read) that have moved since the last call.
  package mutating func takeCommittable() -> [KafkaPartition: Int64] {
    var moved: [KafkaPartition: Int64] = [:]
    for (partition, assignment) in assignments {
      guard let committable = assignment.committable, committable != assignment.committed
      else { continue }
      // Nothing is done yet below the first record that began.
      if committable == assignment.first { continue }
      moved[partition] = committable
      assignments[partition]?.committed = committable
    }
    return moved
  }

  /// A commit failed: what it covered is due again at the next `takeCommittable`.
  package mutating func commitFailed(_ partitions: some Sequence<KafkaPartition>) {
    for partition in partitions { assignments[partition]?.committed = nil }
  }

  /// Records that began and have not finished.
  package var unfinished: Int { assignments.values.reduce(0) { $0 + $1.open.count } }
}
