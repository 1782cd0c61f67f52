import Ingest
import Kafka
import Text

/// Records to lanes, as they have slots, and back: a pure machine. It knows which records wait,
/// which are worked on and which partitions are paused meanwhile. Times are monotonic nanoseconds.
struct RecordDispatch {
  /// One step of the pump, in this order.
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
      lanes: lanes, eventSlots: limits.events, segmentSlots: limits.segments,
      bulkSlots: limits.bulk, stragglerSlots: limits.stragglers)
  }

  var topics: [String] { intakes.map(\.topic) }
  var partitions: Int { intakes.reduce(0) { $0 + $1.partitions.count } }
  /// Records whose segments other workers have claimed.
  var retries: Int { intakes.reduce(0) { $0 + $1.retryCount } }

  func kind(ofTopic topic: String) -> WorkKind? {
    intakes.first { $0.topic == topic }?.kind
  }

  // MARK: partitions

  mutating func assigned(_ partitions: [KafkaPartition]) -> [Step] {
    var steps: [Step] = []
    for index in intakes.indices { steps.pause(intakes[index].assigned(partitions)) }
    return isDraining ? steps + drain() : steps
  }

  /// Forgets what waits of partitions that another member has now, or is about to have. Records in
  /// progress go on.
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

  /// Gives records that wait to lanes with a free slot.
  mutating func beginWaiting(now: UInt64) -> [Step] {
    guard !isDraining else { return [] }
    var steps: [Step] = []
    for kind in WorkKind.allCases { beginWaiting(kind, now, &steps) }
    return steps
  }

  private mutating func beginWaiting(_ kind: WorkKind, _ now: UInt64, _ steps: inout [Step]) {
    let index = kind.rawValue
    while intakes[index].waiting > 0, let lane = loads.take(kind) {
      let slots = running.slots(of: kind)
      guard let record = intakes[index].next(now: now, slots: slots) else {
        loads.giveBack(kind, lane: lane)
        break
      }
      steps.append(.begin(run: running.begin(record, kind, lane: lane)))
    }
    let change = intakes[index].balance()
    steps.pause(change.pause)
    steps.resume(change.resume)
  }

  /// The run has nothing left that was never tried: its slot is the next record's.
  mutating func releaseSlot(_ identifier: Int) {
    if let (kind, lane) = running.releaseSlot(identifier) { loads.giveBack(kind, lane: lane) }
  }

  mutating func end(_ identifier: Int) -> RunningRecords.Run? {
    releaseSlot(identifier)
    return running.end(identifier)
  }

  /// Another worker has the segment of a run that has ended: the record is asked about again later.
  mutating func scheduleRetry(_ run: RunningRecords.Run, until due: UInt64) {
    guard !isDraining else { return }
    let record = Intake.Record(message: run.message, number: run.number)
    intakes[run.kind.rawValue].scheduleRetry(record, until: due)
  }

  /// A run waits for the dead letters: it keeps the record's offset from being committed, but no
  /// slot of a lane, and its partition rests.
  mutating func block(_ identifier: Int) -> [Step] {
    releaseSlot(identifier)
    guard let run = running[identifier] else { return [] }
    var steps: [Step] = []
    steps.pause(intakes[run.kind.rawValue].block(Self.blocked(run)))
    return steps
  }

  /// The partition of a run that was blocked goes on.
  mutating func unblock(_ run: RunningRecords.Run) -> [Step] {
    var steps: [Step] = []
    steps.resume(intakes[run.kind.rawValue].unblock(Self.blocked(run)))
    return steps
  }

  private static func blocked(_ run: RunningRecords.Run) -> Intake.Blocked {
    Intake.Blocked(
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

/// The records that lanes work on, found by their offset in Kafka: a pure machine. A record that
/// comes again while it is worked on, after a rebalance, joins its run instead of beginning
/// another.
struct RunningRecords {
  struct Run {
    let message: KafkaMessage
    let kind: WorkKind
    let lane: Int
    /// The record's number in the offset ledger: that of its last delivery.
    var number: Int
    /// Of a segment.
    let event: ExactText?
    /// It counts against its lane's slots.
    var holdsSlot = true
  }

  private struct Location: Hashable {
    let partition: KafkaPartition
    let offset: Int64
  }

  private var runs: [Int: Run] = [:]
  private var byLocation: [Location: Int] = [:]
  private var lastIdentifier = 0
  /// Slots of lanes by `WorkKind.rawValue`, then by event.
  private var slotsOfEvents: [[ExactText: Int]] = WorkKind.allCases.map { _ in [:] }

  /// How many slots of lanes each event has.
  func slots(of kind: WorkKind) -> [ExactText: Int] { slotsOfEvents[kind.rawValue] }

  var isEmpty: Bool { runs.isEmpty }
  var count: Int { runs.count }

  func contains(anyOf partitions: Set<KafkaPartition>) -> Bool {
    byLocation.keys.contains { partitions.contains($0.partition) }
  }

  /// Returns the run's identifier.
  mutating func begin(_ record: Intake.Record, _ kind: WorkKind, lane: Int) -> Int {
    lastIdentifier += 1
    runs[lastIdentifier] = Run(
      message: record.message, kind: kind, lane: lane, number: record.number, event: record.event)
    if let event = record.event { slotsOfEvents[kind.rawValue][event, default: 0] += 1 }
    byLocation[Self.location(record.message)] = lastIdentifier
    return lastIdentifier
  }

  /// Whether the record is being worked on; its offset then belongs to that run. A record of a
  /// topic that was deleted and created again is another one at the same offset.
  mutating func join(_ message: KafkaMessage, number: Int) -> Bool {
    guard let identifier = byLocation[Self.location(message)], let run = runs[identifier],
      run.message.key == message.key, run.message.value == message.value,
      run.message.timestamp == message.timestamp
    else { return false }
    runs[identifier]?.number = number
    return true
  }

  /// Returns the slot that the run had, if it had one still.
  mutating func releaseSlot(_ identifier: Int) -> (kind: WorkKind, lane: Int)? {
    guard let run = runs[identifier], run.holdsSlot else { return nil }
    runs[identifier]?.holdsSlot = false
    if let event = run.event, let slots = slotsOfEvents[run.kind.rawValue][event] {
      slotsOfEvents[run.kind.rawValue][event] = slots > 1 ? slots - 1 : nil
    }
    return (run.kind, run.lane)
  }

  mutating func end(_ identifier: Int) -> Run? {
    guard let run = runs.removeValue(forKey: identifier) else { return nil }
    let location = Self.location(run.message)
    if byLocation[location] == identifier { byLocation[location] = nil }
    return run
  }

  subscript(identifier: Int) -> Run? { runs[identifier] }

  private static func location(_ message: KafkaMessage) -> Location {
    Location(partition: message.source, offset: message.offset)
  }
}

/// How many slots of each lane are taken, and who takes the next record: a pure machine. Each kind
/// has its own slots, so that one giant fan-out does not delay a small one, and neither waits for
/// pushes that were tried in vain.
package struct LaneLoads: Sendable, Equatable {
  /// By `WorkKind.rawValue`.
  private let slots: [Int]
  private var taken: [[Int]]

  package init(
    lanes: Int, eventSlots: Int, segmentSlots: Int, bulkSlots: Int, stragglerSlots: Int
  ) {
    slots = [eventSlots, segmentSlots, bulkSlots, stragglerSlots]
    taken = Array(repeating: Array(repeating: 0, count: lanes), count: slots.count)
  }

  /// The least busy lane with a free slot for this kind, which is then taken; nil when all are
  /// full.
  package mutating func take(_ kind: WorkKind) -> Int? {
    let mine = taken[kind.rawValue]
    let free = mine.indices.filter { mine[$0] < slots[kind.rawValue] }
    guard let least = free.min(by: { load($0) < load($1) }) else { return nil }
    taken[kind.rawValue][least] += 1
    return least
  }

  package mutating func giveBack(_ kind: WorkKind, lane: Int) {
    precondition(taken[kind.rawValue][lane] > 0, "a lane gave back more than it took")
    taken[kind.rawValue][lane] -= 1
  }

  package func hasRoom(_ kind: WorkKind) -> Bool {
    taken[kind.rawValue].contains { $0 < slots[kind.rawValue] }
  }

  package var inFlight: Int { taken.reduce(0) { $0 + $1.reduce(0, +) } }

  package func inFlight(_ kind: WorkKind) -> Int { taken[kind.rawValue].reduce(0, +) }

  private func load(_ lane: Int) -> Int { taken.reduce(0) { $0 + $1[lane] } }
}
