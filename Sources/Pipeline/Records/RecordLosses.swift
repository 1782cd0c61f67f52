import Ingest
import Kafka
import Telemetry

/// Records that Kafka threw away before anybody had read them: counts them, tells the operator, and
/// says when segments are to be looked for in Redis. One look ends before the next begins.
struct RecordLosses {
  /// Several partitions lose records at once, and what they lost is looked for together.
  static let recoveryDelay: Duration = .seconds(2)

  /// Before whose end nothing behind it is committed: after a crash the next reader finds it again.
  struct Gap: Equatable {
    let partition: KafkaPartition
    let offset: Int64
    let number: Int
    /// Monotonic nanoseconds when it was found.
    fileprivate let foundAt: UInt64
  }

  private let log: Log
  private let ingest: IngestOptions
  /// By topic, since the worker began.
  private(set) var counts: [String: Int]
  private var gaps: [Gap] = []
  /// Monotonic nanoseconds when segments were last found to be lost; nil once they were looked for.
  private var lostAt: UInt64?
  /// Monotonic nanoseconds of the next look.
  private var lookAt: UInt64 = .max
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
    guard holdsSegments(partition.topic) else { return }
    lostAt = now
    look(after: Self.recoveryDelay, now: now)
  }

  private mutating func look(after delay: Duration, now: UInt64) {
    lookAt = min(lookAt, now &+ delay.nanoseconds)
  }

  /// - Parameter number: of the gap's first offset, by the ledger.
  mutating func block(_ partition: KafkaPartition, _ offset: Int64, _ number: Int, now: UInt64) {
    gaps.append(Gap(partition: partition, offset: offset, number: number, foundAt: now))
  }

  func holdsSegments(_ topic: String) -> Bool {
    topic != ingest.eventsTopic && topic != ingest.stragglersTopic
  }

  private func effect(_ topic: String) -> String {
    switch topic {
    case ingest.eventsTopic: "events away that no worker had read: nobody is told of them"
    case ingest.stragglersTopic:
      "stragglers away that no worker had read: their fan-outs end as incomplete some time after "
        + "their events have expired"
    default: "records away that no worker had read: segments are planned again"
    }
  }

  /// Since when to look for lost segments now, if at all. Call `ended` when that is done.
  mutating func begin(now: UInt64) -> UInt64? {
    guard !isLooking, let lostAt, now >= lookAt else { return nil }
    isLooking = true
    lookAt = .max
    return lostAt
  }

  /// - Parameters:
  ///   - looked: what `begin` had said.
  ///   - delay: after which to look again; nil: all until then is found.
  /// - Returns: gaps that nobody needs to find again.
  mutating func ended(_ looked: UInt64, again delay: Duration?, now: UInt64) -> [Gap] {
    isLooking = false
    if let delay {
      look(after: delay, now: now)
      return []
    }
    if lostAt == looked { lostAt = nil }
    let ended = gaps.filter { $0.foundAt <= looked }
    gaps.removeAll { $0.foundAt <= looked }
    return ended
  }
}
