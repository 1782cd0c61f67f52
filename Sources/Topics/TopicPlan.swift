import Ingest
import Kafka
import Keyspace

/// The topics that Fanfare reads and writes, as they should be for these settings.
package struct TopicPlan: Sendable {
  /// Events first, then what workers write for each other, then what others read.
  package let topics: [KafkaTopic]
  /// Those of `topics` that workers read: a record is of use there while its event lives and Redis
  /// remembers what is done of it.
  package let work: Set<String>

  /// With fewer a fleet that grows would have to wait for more partitions.
  private static let fewestOfWork = 4
  private static let fewestOfSegments = 16
  /// A clock that is wrong, a night in which nobody is there.
  private static let slack = Duration.seconds(86_400)
  /// A day less than Redis remembers which events and segments are done: what Kafka gives out later
  /// would be done again.
  package static let longestOfWork = Duration.seconds(Keyspace.eventLifetimeSeconds) - slack
  /// Somebody has to look at them.
  private static let ofDeadLetters = Duration.seconds(14 * 86_400)
  private static let ofTokens = Duration.seconds(7 * 86_400)
  private static let ofOutcomes = Duration.seconds(7 * 86_400)

  /// - Parameters:
  ///   - ingest: the names of the topics, and how long events may live.
  ///   - workers: how many there will be at most.
  ///   - lanes: of each.
  ///   - replicas: brokers that have each record.
  package init(_ ingest: IngestOptions, workers: Int, lanes: Int, replicas: Int) {
    let longest = Duration.seconds(ingest.maximumExpirySeconds)
    let life = min(longest + Self.slack, Self.longestOfWork)
    func topic(_ name: String, _ partitions: Int, kept: Duration) -> KafkaTopic {
      KafkaTopic(
        name, partitions: partitions, replicas: replicas,
        configuration: [
          "cleanup.policy": "delete", "retention.ms": "\(kept.components.seconds * 1000)",
          // Records are acknowledged by all replicas in sync: one broker may be away.
          "min.insync.replicas": "\(replicas > 2 ? 2 : 1)",
        ])
    }
    // A worker without a partition of events, or of stragglers, reads none.
    let each = max(Self.fewestOfWork, workers)
    // Every lane of every worker can have a large fan-out's segments.
    let segments = max(Self.fewestOfSegments, workers * lanes)
    let work = [
      topic(ingest.eventsTopic, each, kept: life),
      topic(ingest.segmentsTopic, segments, kept: life),
      topic(ingest.bulkTopic, segments, kept: life),
      topic(ingest.stragglersTopic, each, kept: life),
    ]
    let others =
      [topic(ingest.deadLettersTopic, 1, kept: Self.ofDeadLetters)]
      + (ingest.tokensTopic.map { [topic($0, Self.fewestOfWork, kept: Self.ofTokens)] } ?? [])
      + (ingest.outcomesTopic.map { [topic($0, Self.fewestOfWork, kept: Self.ofOutcomes)] } ?? [])
    topics = work + others
    self.work = Set(work.map(\.name))
  }
}
