import Kafka
import Text

/// The records that lanes work on, found by their place in Kafka: a pure machine. A record that
/// comes again while it is worked on, after a rebalance, joins its run instead of beginning
/// another.
struct RunningRecords {
  struct Run {
    let message: KafkaMessage
    let kind: WorkKind
    let lane: Int
    /// What the offset ledger knows the record by: that of its last delivery.
    var number: Int
    /// Of a segment.
    let event: ExactText?
    /// It counts against its lane's places.
    var hasPlace = true
  }

  private struct Place: Hashable {
    let partition: KafkaPartition
    let offset: Int64
  }

  private var runs: [Int: Run] = [:]
  private var byPlace: [Place: Int] = [:]
  private var lastIdentifier = 0
  /// Places of lanes by `WorkKind.rawValue`, then by event.
  private var placesOfEvents: [[ExactText: Int]] = WorkKind.allCases.map { _ in [:] }

  /// How many places of lanes each event has.
  func places(of kind: WorkKind) -> [ExactText: Int] { placesOfEvents[kind.rawValue] }

  var isEmpty: Bool { runs.isEmpty }
  var count: Int { runs.count }

  func contains(anyOf partitions: Set<KafkaPartition>) -> Bool {
    byPlace.keys.contains { partitions.contains($0.partition) }
  }

  /// Returns the run's identifier.
  mutating func begin(_ record: Intake.Record, _ kind: WorkKind, lane: Int) -> Int {
    lastIdentifier += 1
    runs[lastIdentifier] = Run(
      message: record.message, kind: kind, lane: lane, number: record.number, event: record.event)
    if let event = record.event { placesOfEvents[kind.rawValue][event, default: 0] += 1 }
    byPlace[Self.place(record.message)] = lastIdentifier
    return lastIdentifier
  }

  /// Whether the record is being worked on; its offset then belongs to that run. A record of a
  /// topic that was deleted and created again is another one at the same offset.
  mutating func join(_ message: KafkaMessage, number: Int) -> Bool {
    guard let identifier = byPlace[Self.place(message)], let run = runs[identifier],
      run.message.key == message.key, run.message.value == message.value,
      run.message.timestamp == message.timestamp
    else { return false }
    runs[identifier]?.number = number
    return true
  }

  /// Returns the place that the run had, if it had one still.
  mutating func vacate(_ identifier: Int) -> (kind: WorkKind, lane: Int)? {
    guard let run = runs[identifier], run.hasPlace else { return nil }
    runs[identifier]?.hasPlace = false
    if let event = run.event, let places = placesOfEvents[run.kind.rawValue][event] {
      placesOfEvents[run.kind.rawValue][event] = places > 1 ? places - 1 : nil
    }
    return (run.kind, run.lane)
  }

  mutating func end(_ identifier: Int) -> Run? {
    guard let run = runs.removeValue(forKey: identifier) else { return nil }
    let place = Self.place(run.message)
    if byPlace[place] == identifier { byPlace[place] = nil }
    return run
  }

  subscript(identifier: Int) -> Run? { runs[identifier] }

  private static func place(_ message: KafkaMessage) -> Place {
    Place(partition: message.source, offset: message.offset)
  }
}
