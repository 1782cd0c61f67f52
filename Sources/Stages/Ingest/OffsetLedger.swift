import Kafka

/// Which offsets may be committed: a pure machine. Records of a partition begin in order and finish
/// in any; only what lies below the first unfinished one may be committed, so that a crash skips
/// nothing.
package struct OffsetLedger: Sendable, Equatable {
  /// One assignment of a partition.
  private struct Assignment: Sendable, Equatable {
    /// Records that began and have not finished, with the number that each got; bounded by what the
    /// lanes take.
    var open: [Int64: Int] = [:]
    /// One past the offset that began last, or the end of the partition behind it; nil when none
    /// has begun and the end was not reached.
    var next: Int64?
    /// Where reading began.
    var start: Int64?
    /// The last offset taken, and before that where reading began; nil when that commit failed.
    var taken: Int64?

    /// Everything before it is done.
    var committable: Int64? { open.keys.min() ?? next }

    /// Only offsets without a record lie between the last one that began and this end: moves `next`
    /// there.
    mutating func reachEnd(_ end: Int64) {
      if let next, next >= end { return }
      if next == nil { start = end }
      next = end
    }

    mutating func begin(_ offset: Int64, number: Int) {
      if let next {
        // The log was cut, or the topic deleted and made again: what began at or above this is read
        // again, and is another record now. The commit goes back with it: the old end would skip
        // what comes.
        if offset < next { open = open.filter { $0.key < offset } }
      } else {
        taken = offset
        start = offset
      }
      open[offset] = number
      next = offset + 1
    }
  }

  private var assignments: [KafkaPartition: Assignment] = [:]
  private var lastNumber = 0

  package init() {}

  /// Partitions that are ours from now on; what was known of them is forgotten.
  package mutating func assigned(_ partitions: [KafkaPartition]) {
    for partition in partitions { assignments[partition] = Assignment() }
  }

  /// Partitions that are ours no longer. Their records may still finish; that changes nothing.
  package mutating func revoked(_ partitions: [KafkaPartition]) {
    for partition in partitions { assignments[partition] = nil }
  }

  /// A record was handed to a lane. Returns a number for `finished`, nil when the partition is not
  /// ours (or the offset none of Kafka's): then the record is another's and must not be worked on.
  package mutating func began(_ partition: KafkaPartition, _ offset: Int64) -> Int? {
    guard offset >= 0, offset < .max, assignments[partition] != nil else { return nil }
    lastNumber += 1
    assignments[partition]?.begin(offset, number: lastNumber)
    return lastNumber
  }

  /// Reading has come to the end of a partition, where the next record will have this offset. The
  /// control records of transactions have offsets and are never handed to anybody: without this
  /// they would be waited for.
  package mutating func reachedEnd(_ partition: KafkaPartition, _ end: Int64) {
    guard end >= 0 else { return }
    assignments[partition]?.reachEnd(end)
  }

  /// The record that got this number is done. One that began under an earlier assignment, or before
  /// its offset was read again, changes nothing.
  package mutating func finished(_ partition: KafkaPartition, _ offset: Int64, _ number: Int) {
    guard awaits(partition, offset, number) else { return }
    assignments[partition]?.open[offset] = nil
  }

  /// Whether the record that got this number began under the assignment that holds, and has not
  /// finished: it is ours to do.
  package func awaits(_ partition: KafkaPartition, _ offset: Int64, _ number: Int) -> Bool {
    assignments[partition]?.open[offset] == number
  }

  /// The offsets to commit (of the next record to read) that have moved since the last call.
  ///
  /// - Parameter all: those too that were taken before: an earlier commit may be on its way still
  ///   and be refused, and this is the last chance.
  package mutating func takeCommittable(all: Bool = false) -> [KafkaPartition: Int64] {
    var moved: [KafkaPartition: Int64] = [:]
    for (partition, assignment) in assignments {
      let known = all ? assignment.start : assignment.taken
      guard let committable = assignment.committable, committable != known else { continue }
      moved[partition] = committable
      assignments[partition]?.taken = committable
    }
    return moved
  }

  /// A commit failed: what it covered is due again at the next `takeCommittable`.
  package mutating func commitFailed(_ partitions: some Sequence<KafkaPartition>) {
    for partition in partitions { assignments[partition]?.taken = nil }
  }

  /// Records that began and have not finished.
  var unfinished: Int { assignments.values.reduce(0) { $0 + $1.open.count } }
}
