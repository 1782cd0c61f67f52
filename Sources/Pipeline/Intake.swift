import Kafka

/// The records of one topic that wait for a lane, and which of its partitions are paused. Pausing
/// throws away what librdkafka has fetched ahead, so it begins when the backlog is full and ends
/// when it is nearly empty. A pure machine; what it returns is what the consumer is to pause or
/// resume.
struct Intake {
  /// A record that waits for the dead letters, which take nothing. Its partition rests meanwhile,
  /// so that no more records of it come to the same end, and the other partitions go on.
  struct Stuck: Hashable {
    let partition: KafkaPartition
    let offset: Int64
    let assignment: Int
  }

  let kind: WorkKind
  let topic: String
  private(set) var partitions: Set<KafkaPartition> = []
  private(set) var isPaused = false
  private var backlog: [KafkaMessage] = []
  private var stuck: Set<Stuck> = []

  /// Records at most: two rounds of a small worker's lanes; a record is at most
  /// `maximum_event_bytes`.
  static let capacity = 16

  init(kind: WorkKind, topic: String) {
    self.kind = kind
    self.topic = topic
  }

  /// Records that a lane may begin.
  var waiting: Int { backlog.count { !isBlocked($0.source) } }

  mutating func append(_ message: KafkaMessage) { backlog.append(message) }

  /// The next record, in order within its partition.
  mutating func next() -> KafkaMessage? {
    guard let index = backlog.firstIndex(where: { !isBlocked($0.source) }) else { return nil }
    return backlog.remove(at: index)
  }

  /// Called when `waiting` may have changed.
  mutating func balance() -> (pause: [KafkaPartition], resume: [KafkaPartition]) {
    if !isPaused, waiting >= Self.capacity {
      isPaused = true
      return (Array(partitions), [])
    }
    guard isPaused, waiting <= Self.capacity / 4 else { return ([], []) }
    isPaused = false
    return ([], partitions.filter { !isBlocked($0) })
  }

  /// Takes over partitions and returns those to pause: all of them when the others are paused.
  mutating func assigned(_ more: [KafkaPartition]) -> [KafkaPartition] {
    let mine = more.filter { $0.topic == topic }
    partitions.formUnion(mine)
    return isPaused ? mine : []
  }

  /// Forgets what belongs to partitions that another member has now.
  mutating func revoked(_ gone: Set<KafkaPartition>) {
    partitions.subtract(gone)
    backlog.removeAll { gone.contains($0.source) }
    stuck = stuck.filter { !gone.contains($0.partition) }
    if partitions.isEmpty { isPaused = false }
  }

  mutating func block(_ record: Stuck) -> [KafkaPartition] {
    guard partitions.contains(record.partition) else { return [] }
    stuck.insert(record)
    return [record.partition]
  }

  /// Returns the partition when it goes on.
  mutating func unblock(_ record: Stuck) -> [KafkaPartition] {
    guard stuck.remove(record) != nil, !isBlocked(record.partition), !isPaused else { return [] }
    return [record.partition]
  }

  /// Takes nothing more; returns the partitions to pause.
  mutating func drain() -> [KafkaPartition] {
    backlog = []
    isPaused = true
    return Array(partitions)
  }

  private func isBlocked(_ partition: KafkaPartition) -> Bool {
    stuck.contains { $0.partition == partition }
  }
}
