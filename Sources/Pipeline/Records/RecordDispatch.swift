import Ingest
import Kafka

/// Records to lanes, as they have places, and back: a pure machine. It knows which records wait,
/// which are worked on and which partitions are paused meanwhile. Times are monotonic nanoseconds.
struct RecordDispatch {
  /// What the pump is to do, in this order.
  enum Step: Equatable {
    case pause([KafkaPartition])
    case resume([KafkaPartition])
    /// Hand the record of this run to its lane.
    case begin(run: Int)
  }

  /// By `WorkKind.rawValue`.
  private var intakes: [Intake]
  private var loads: LaneLoads
  private(set) var running = RunningRecords()
  private(set) var isDraining = false

  init(_ ingest: IngestOptions, lanes: Int, limits: LaneLimits) {
    intakes = [
      Intake(kind: .event, topic: ingest.eventsTopic),
      Intake(kind: .segment, topic: ingest.segmentsTopic),
      Intake(kind: .bulk, topic: ingest.bulkTopic),
      Intake(kind: .straggler, topic: ingest.stragglersTopic),
    ]
    loads = LaneLoads(
      lanes: lanes, eventPlaces: limits.events, segmentPlaces: limits.segments,
      bulkPlaces: limits.bulk, stragglerPlaces: limits.stragglers)
  }

  var topics: [String] { intakes.map(\.topic) }
  var partitions: Int { intakes.reduce(0) { $0 + $1.partitions.count } }
  /// Records whose segments other workers have claimed.
  var aside: Int { intakes.reduce(0) { $0 + $1.asideCount } }

  func kind(ofTopic topic: String) -> WorkKind? {
    intakes.first { $0.topic == topic }?.kind
  }

  // MARK: partitions

  mutating func assigned(_ partitions: [KafkaPartition]) -> [Step] {
    var steps: [Step] = []
    for index in intakes.indices { steps.pause(intakes[index].assigned(partitions)) }
    return isDraining ? steps + drain() : steps
  }

  /// Forgets what waits of partitions that another member has now, or is about to have. What is
  /// worked on goes on.
  mutating func revoked(_ partitions: Set<KafkaPartition>) {
    for index in intakes.indices { intakes[index].revoked(partitions) }
  }

  /// Begins nothing more.
  mutating func drain() -> [Step] {
    isDraining = true
    var steps: [Step] = []
    for index in intakes.indices { steps.pause(intakes[index].drain()) }
    return steps
  }

  // MARK: records

  /// Whether the record is being worked on; its offset then belongs to that run.
  mutating func join(_ message: KafkaMessage, number: Int) -> Bool {
    running.join(message, number: number)
  }

  mutating func received(_ record: Intake.Record, _ kind: WorkKind, now: UInt64) -> [Step] {
    var steps: [Step] = []
    steps.pause(intakes[kind.rawValue].append(record, now: now))
    return steps + beginWaiting(now: now)
  }

  /// Takes up again what has rested long enough.
  mutating func wake(now: UInt64) -> [Step] {
    guard !isDraining else { return [] }
    var steps: [Step] = []
    for index in intakes.indices { steps.resume(intakes[index].wake(now: now)) }
    return steps + beginWaiting(now: now)
  }

  /// Gives records that wait to lanes with a free place.
  mutating func beginWaiting(now: UInt64) -> [Step] {
    guard !isDraining else { return [] }
    var steps: [Step] = []
    for kind in WorkKind.allCases { beginWaiting(kind, now, &steps) }
    return steps
  }

  private mutating func beginWaiting(_ kind: WorkKind, _ now: UInt64, _ steps: inout [Step]) {
    let index = kind.rawValue
    while intakes[index].waiting > 0, let lane = loads.take(kind) {
      let places = running.places(of: kind)
      guard let record = intakes[index].next(now: now, places: places) else {
        loads.giveBack(kind, lane: lane)
        break
      }
      steps.append(.begin(run: running.begin(record, kind, lane: lane)))
    }
    let change = intakes[index].balance()
    steps.pause(change.pause)
    steps.resume(change.resume)
  }

  /// The run has nothing left that was never tried: its place is the next record's.
  mutating func vacate(_ identifier: Int) {
    if let (kind, lane) = running.vacate(identifier) { loads.giveBack(kind, lane: lane) }
  }

  mutating func end(_ identifier: Int) -> RunningRecords.Run? {
    vacate(identifier)
    return running.end(identifier)
  }

  /// Another worker has the segment of a run that has ended: the record is asked about again later.
  mutating func putAside(_ run: RunningRecords.Run, until due: UInt64) {
    guard !isDraining else { return }
    let record = Intake.Record(message: run.message, number: run.number)
    intakes[run.kind.rawValue].putAside(record, until: due)
  }

  /// A run waits for the dead letters: it keeps the record's offset from being committed, but no
  /// place of a lane, and its partition rests.
  mutating func hold(_ identifier: Int) -> [Step] {
    vacate(identifier)
    guard let run = running[identifier] else { return [] }
    var steps: [Step] = []
    steps.pause(intakes[run.kind.rawValue].block(Self.held(run)))
    return steps
  }

  /// The partition of a run that was held goes on.
  mutating func release(_ run: RunningRecords.Run) -> [Step] {
    var steps: [Step] = []
    steps.resume(intakes[run.kind.rawValue].unblock(Self.held(run)))
    return steps
  }

  private static func held(_ run: RunningRecords.Run) -> Intake.Held {
    Intake.Held(
      partition: run.message.source, offset: run.message.offset, bytes: run.message.valueBytes)
  }
}

extension [RecordDispatch.Step] {
  fileprivate mutating func pause(_ partitions: [KafkaPartition]) {
    if !partitions.isEmpty { append(.pause(partitions)) }
  }

  fileprivate mutating func resume(_ partitions: [KafkaPartition]) {
    if !partitions.isEmpty { append(.resume(partitions)) }
  }
}
