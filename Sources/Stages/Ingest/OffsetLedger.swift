import Kafka

/// Which offsets may be committed: a pure machine. Records of a partition begin in order and finish
/// in any; only what lies below the first unfinished one may be committed, so that a crash skips
/// nothing.
package struct OffsetLedger: Sendable, Equatable {
  /// One assignment of a partition. A record that began under an earlier one must not move this
  /// one's offset.
  private struct Assignment: Sendable, Equatable {
    let number: Int
    /// Records that began and have not finished; bounded by what the lanes take.
    var open: Set<Int64> = []
    /// One past the highest offset that began.
    var next: Int64 = 0
    /// What was taken last, and before that where the assignment's reading began: nothing at or
    /// below it is news. Nil when no record has begun.
    var committed: Int64?

    /// Everything before it is done.
    var committable: Int64 { open.min() ?? next }

    mutating func begin(_ offset: Int64) {
      open.insert(offset)
      next = max(next, offset + 1)
      if committed == nil { committed = offset }
    }
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
  /// partition is not ours (or the offset none of Kafka's): then the record is another's and must
  /// not be worked on.
  package mutating func began(_ partition: KafkaPartition, _ offset: Int64) -> Int? {
    guard offset >= 0, offset < .max, assignments[partition] != nil else { return nil }
    assignments[partition]?.begin(offset)
    return assignments[partition]?.number
  }

  /// The record is done. A number of an earlier assignment changes nothing.
  package mutating func finished(_ partition: KafkaPartition, _ offset: Int64, _ number: Int) {
    guard assignments[partition]?.number == number else { return }
    assignments[partition]?.open.remove(offset)
  }

  /// The offsets to commit (of the next record to read) that have moved since the last call.
  package mutating func takeCommittable() -> [KafkaPartition: Int64] {
    var moved: [KafkaPartition: Int64] = [:]
    for (partition, assignment) in assignments {
      let committable = assignment.committable
      // Never backwards: a record that is delivered again does not undo what was done after it.
      guard let committed = assignment.committed, committable > committed else { continue }
      moved[partition] = committable
      assignments[partition]?.committed = committable
    }
    return moved
  }

  /// Records that began and have not finished.
  package var unfinished: Int { assignments.values.reduce(0) { $0 + $1.open.count } }
}
