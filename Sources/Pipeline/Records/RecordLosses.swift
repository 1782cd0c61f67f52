import Ingest
import Kafka
import Telemetry

/// When Kafka was last found to have thrown records away, in monotonic nanoseconds; nil where it
/// was not, or where they need not be looked for any more.
package struct LostRecords: Sendable, Equatable {
  package var segments: UInt64?
  package var stragglers: UInt64?
}

/// After how long lost records are to be looked for again; nil where nothing is left to do.
package struct NextLook: Sendable, Equatable {
  package var segments: Duration?
  package var stragglers: Duration?
}

/// Records that Kafka threw away before anybody had read them: counts them, tells the operator, and
/// says when segments and stragglers are to be looked for in Redis. One look ends before the next
/// begins.
struct RecordLosses {
  /// Several partitions lose records at once, and what they lost is looked for together.
  static let recoveryDelay: Duration = .seconds(2)

  private let log: Log
  private let ingest: IngestOptions
  /// By topic, since the worker began.
  private(set) var counts: [String: Int]
  private var lost = LostRecords()
  /// Monotonic nanoseconds of the next look.
  private var lookAt: UInt64?
  private var isLooking = false

  init(log: Log, ingest: IngestOptions, topics: [String]) {
    self.log = log
    self.ingest = ingest
    counts = Dictionary(topics.map { ($0, 0) }) { first, _ in first }
  }

  /// - Parameter now: monotonic nanoseconds.
  mutating func note(_ partition: KafkaPartition, _ offsets: Range<Int64>, now: UInt64) {
    counts[partition.topic, default: 0] += offsets.count
    log.error(
      "Kafka has thrown \(effect(partition.topic)); give the topic a longer retention",
      [
        "topic": .text(partition.topic), "partition": .integer(Int(partition.partition)),
        "first": .integer(Int(offsets.lowerBound)), "records": .integer(offsets.count),
      ])
    switch partition.topic {
    case ingest.eventsTopic: return
    case ingest.stragglersTopic: lost.stragglers = now
    default: lost.segments = now
    }
    look(after: Self.recoveryDelay, now: now)
  }

  private func effect(_ topic: String) -> String {
    switch topic {
    case ingest.eventsTopic: "events away that no worker had read: nobody is told of them"
    case ingest.stragglersTopic:
      "stragglers away that no worker had read: what is not settled some time after its event has "
        + "expired counts as lost"
    default: "records away that no worker had read: segments are planned again"
    }
  }

  private mutating func look(after delay: Duration, now: UInt64) {
    lookAt = min(lookAt ?? .max, now &+ delay.nanoseconds)
  }

  /// What to look for now, if anything. Call `ended` when that is done.
  mutating func begin(now: UInt64) -> LostRecords? {
    guard !isLooking, let lookAt, now >= lookAt else { return nil }
    isLooking = true
    self.lookAt = nil
    return lost
  }

  mutating func ended(_ looked: LostRecords, _ next: NextLook, now: UInt64) {
    isLooking = false
    if next.segments == nil, lost.segments == looked.segments { lost.segments = nil }
    if next.stragglers == nil, lost.stragglers == looked.stragglers { lost.stragglers = nil }
    if let delay = [next.segments, next.stragglers].compactMap(\.self).min() {
      look(after: delay, now: now)
    }
  }
}
