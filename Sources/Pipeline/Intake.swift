import Kafka

/// The records of one topic that wait for a lane, and whether its partitions are paused. Pausing throws away
/// what librdkafka has fetched ahead, so it begins when the backlog is full and ends when it is nearly empty.
struct Intake {
  let kind: WorkKind
  let topic: String
  var partitions: Set<KafkaPartition> = []
  var backlog: [KafkaMessage] = []
  var isPaused = false

  /// Records at most: two rounds of a small worker's lanes; a record is at most `maximum_event_bytes`.
  static let capacity = 16

  var mustPause: Bool { !isPaused && backlog.count >= Self.capacity }
  var mayResume: Bool { isPaused && backlog.count <= Self.capacity / 4 }

  /// Forgets what belongs to partitions that another member has now.
  mutating func drop(_ gone: Set<KafkaPartition>) {
    partitions.subtract(gone)
    backlog.removeAll { gone.contains($0.source) }
  }
}
