import Ingest
import Kafka
import Text

/// The records of one topic that wait for a lane, and which of its partitions are paused. Pausing
/// throws away what librdkafka has fetched ahead, so it begins when the backlog is full and ends
/// when it is nearly empty. A pure machine; what it returns is what the consumer is to pause or
/// resume. Times are monotonic nanoseconds.
struct Intake {
  struct Record: Equatable {
    let message: KafkaMessage
    /// Its number in the offset ledger.
    let number: Int
    /// Not to be begun sooner: stragglers rest.
    var notBefore: UInt64 = 0
    /// The event of a segment.
    let event: ExactText?

    init(message: KafkaMessage, number: Int, notBefore: UInt64 = 0) {
      self.message = message
      self.number = number
      self.notBefore = notBefore
      event = SegmentRecord.event(ofKey: message.key).map { ExactText($0) }
    }
  }

  /// A record that waits for the dead letters, which take nothing. Its partition rests meanwhile,
  /// so that no more records of it come to the same end, and the other partitions go on.
  struct Blocked: Hashable {
    let partition: KafkaPartition
    let offset: Int64
    var bytes = 0
  }

  let kind: WorkKind
  let topic: String
  private(set) var partitions: Set<KafkaPartition> = []
  private(set) var isPaused = false
  private var backlog: [Record] = []
  /// Records whose segments others work on; asked about again when their time has come.
  private var retries: [Record] = []
  private var blocked: Set<Blocked> = []
  /// Partitions whose next record rests: they are paused, so that what rests is bounded.
  private var resting: Set<KafkaPartition> = []

  /// Records at most: four events of 64 segments. An event that is further behind waits for those
  /// before it. A record is at most `maximum_event_bytes`.
  static let capacity = 256
  /// Records that wait to be asked about again at most, beyond which nothing more is read: after
  /// the death of a worker, what it had claimed is in the slots of its lanes or awaits its last
  /// answers, some forty a lane.
  static let maximumRetries = 256
  /// Bytes of all records that are kept, those of blocked partitions among them, beyond which
  /// nothing more is read: thousands of usual records, and hundreds of the largest.
  static let maximumBytes = 24 << 20

  init(kind: WorkKind, topic: String) {
    self.kind = kind
    self.topic = topic
  }

  /// Records that a lane may begin, now or when their time has come.
  var waiting: Int {
    blocked.isEmpty ? backlog.count : backlog.count { !isBlocked($0.message.source) }
  }
  var retryCount: Int { retries.count }
  private var bytes: Int {
    let waiting = backlog.reduce(0) { $0 + $1.message.valueBytes }
    let listed = retries.reduce(waiting) { $0 + $1.message.valueBytes }
    return blocked.reduce(listed) { $0 + $1.bytes }
  }

  /// Returns the partitions to pause.
  mutating func append(_ record: Record, now: UInt64 = 0) -> [KafkaPartition] {
    backlog.append(record)
    guard record.notBefore > now, resting.insert(record.message.source).inserted else { return [] }
    return [record.message.source]
  }

  /// The next record: events in their order, and of segments the first of the event that has the
  /// fewest slots, so that a large event does not hold up those behind it.
  /// - Parameter slots: by event.
  mutating func next(now: UInt64 = 0, slots: [ExactText: Int] = [:]) -> Record? {
    var least: (index: Int, slots: Int)?
    for (index, record) in backlog.enumerated()
    where !isBlocked(record.message.source) && record.notBefore <= now {
      let taken = isFair ? record.event.flatMap { slots[$0] } ?? 0 : 0
      if taken < least?.slots ?? .max { least = (index, taken) }
      if taken == 0 { break }
    }
    return least.map { backlog.remove(at: $0.index) }
  }

  /// The order of an event's segments says nothing; that of events does.
  private var isFair: Bool { kind == .segment || kind == .bulk }

  /// Somebody else works on it: ask again later.
  mutating func scheduleRetry(_ record: Record, until due: UInt64) {
    guard partitions.contains(record.message.source) else { return }
    retries.append(Record(message: record.message, number: record.number, notBefore: due))
  }

  /// Takes up again what has rested long enough. Returns the partitions to resume.
  mutating func wake(now: UInt64) -> [KafkaPartition] {
    guard !retries.isEmpty || !resting.isEmpty || !backlog.isEmpty else { return [] }
    let due = retries.filter { $0.notBefore <= now }
    retries.removeAll { $0.notBefore <= now }
    backlog.insert(contentsOf: due, at: 0)
    let rested = resting.filter { partition in
      guard let first = backlog.first(where: { $0.message.source == partition }) else {
        return true
      }
      return first.notBefore <= now
    }
    resting.subtract(rested)
    // A later record of the partition may rest still.
    for record in backlog where record.notBefore > now { resting.insert(record.message.source) }
    return rested.filter { !resting.contains($0) && !isBlocked($0) && !isPaused }.sorted()
  }

  /// Called when `waiting` may have changed.
  mutating func balance() -> (pause: [KafkaPartition], resume: [KafkaPartition]) {
    let bytes = bytes
    if !isPaused,
      waiting >= Self.capacity || retries.count >= Self.maximumRetries || bytes >= Self.maximumBytes
    {
      isPaused = true
      return (partitions.sorted(), [])
    }
    guard isPaused, waiting <= Self.capacity / 4, retries.count <= Self.maximumRetries / 2,
      bytes <= Self.maximumBytes / 2
    else { return ([], []) }
    isPaused = false
    return ([], partitions.filter { !isBlocked($0) && !resting.contains($0) }.sorted())
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
    backlog.removeAll { gone.contains($0.message.source) }
    retries.removeAll { gone.contains($0.message.source) }
    blocked = blocked.filter { !gone.contains($0.partition) }
    resting.subtract(gone)
    if partitions.isEmpty { isPaused = false }
  }

  mutating func block(_ record: Blocked) -> [KafkaPartition] {
    guard partitions.contains(record.partition) else { return [] }
    blocked.insert(record)
    return [record.partition]
  }

  /// Returns the partition when it goes on.
  mutating func unblock(_ record: Blocked) -> [KafkaPartition] {
    guard blocked.remove(record) != nil, !isBlocked(record.partition), !isPaused,
      !resting.contains(record.partition)
    else { return [] }
    return [record.partition]
  }

  /// Takes nothing more; returns the partitions to pause.
  mutating func drain() -> [KafkaPartition] {
    backlog = []
    retries = []
    isPaused = true
    return partitions.sorted()
  }

  private func isBlocked(_ partition: KafkaPartition) -> Bool {
    blocked.contains { $0.partition == partition }
  }
}
