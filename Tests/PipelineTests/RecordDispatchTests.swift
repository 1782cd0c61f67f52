import Ingest
import Kafka
import Testing

@testable import Pipeline

/// Which record goes to which lane and when, and which partitions rest meanwhile.
@Suite struct RecordDispatchTests {
  private typealias Step = RecordDispatch.Step

  private static let ingest = IngestOptions()
  private static let first = KafkaPartition(topic: ingest.eventsTopic, partition: 0)
  private static let second = KafkaPartition(topic: ingest.eventsTopic, partition: 1)
  private static let stragglers = KafkaPartition(topic: ingest.stragglersTopic, partition: 0)

  /// Two lanes with one place for each kind.
  private func dispatching() -> Dispatching {
    var limits = LaneLimits()
    limits.events = 1
    limits.segments = 1
    limits.stragglers = 1
    let bed = Dispatching(RecordDispatch(Self.ingest, lanes: 2, limits: limits))
    let steps = bed.assigned([Self.first, Self.second, Self.stragglers])
    #expect(steps.isEmpty)
    return bed
  }

  @Test func eachTopicHasItsKind() {
    let dispatch = dispatching().dispatch
    #expect(
      dispatch.topics
        == [
          Self.ingest.eventsTopic, Self.ingest.segmentsTopic, Self.ingest.bulkTopic,
          Self.ingest.stragglersTopic,
        ])
    #expect(dispatch.topics.map { dispatch.kind(ofTopic: $0) } == WorkKind.allCases)
    #expect(dispatch.kind(ofTopic: "another") == nil)
    #expect(dispatch.partitions == 3)
  }

  @Test func lanesTakeTurnsAndKindsHaveTheirOwnSlots() throws {
    let bed = dispatching()
    #expect(try bed.receive(Self.first, 0) == [.begin(run: 1)])
    #expect(try bed.receive(Self.first, 1) == [.begin(run: 2)])
    #expect(Set([1, 2].compactMap { bed.running[$0]?.lane }) == [0, 1])
    #expect(try bed.receive(Self.second, 0).isEmpty, "all slots are taken")
    #expect(try bed.receive(Self.stragglers, 0) == [.begin(run: 3)])
    #expect(bed.running[3]?.kind == .straggler)
    #expect(bed.beginWaiting().isEmpty)
    let lane = bed.running[2]?.lane
    #expect(bed.end(2)?.message.offset == 1)
    #expect(bed.beginWaiting() == [.begin(run: 4)])
    #expect(bed.running[4]?.message.source == Self.second)
    #expect(bed.running[4]?.lane == lane)
  }

  /// An event has a place for the segments that are worked on, and no longer for those that were.
  @Test func eventsTakeTurnsForSlots() throws {
    let segments = KafkaPartition(topic: Self.ingest.segmentsTopic, partition: 0)
    let bed = dispatching()
    #expect(bed.assigned([segments]).isEmpty)
    for (offset, key) in ["a/0", "a/1", "a/2", "a/3", "b/0", "b/1"].enumerated() {
      _ = try bed.receive(segments, Int64(offset), key: key)
    }
    #expect(bed.slots == ["a": 2])
    bed.releaseSlot(1)
    #expect(bed.offsets(bed.beginWaiting()) == [4], "the first of b")
    #expect(bed.slots == ["a": 1, "b": 1])
    #expect(bed.end(2) != nil)
    #expect(bed.offsets(bed.beginWaiting()) == [2])
    #expect(bed.end(1) != nil, "it had left its place")
    #expect(bed.beginWaiting().isEmpty)
    #expect(bed.end(3) != nil)
    #expect(bed.offsets(bed.beginWaiting()) == [5])
  }

  @Test func aPlaceThatWasLeftIsNotGivenBackAgain() throws {
    let bed = dispatching()
    for offset in 0..<4 as Range<Int64> { _ = try bed.receive(Self.first, offset) }
    bed.releaseSlot(1)
    bed.releaseSlot(1)
    #expect(bed.offsets(bed.beginWaiting()) == [2])
    #expect(bed.running.count == 3)
    #expect(bed.end(1) != nil)
    #expect(bed.end(1) == nil)
    #expect(bed.beginWaiting().isEmpty)
  }

  @Test func whatNobodyHasRoomForPausesItsTopic() throws {
    let bed = dispatching()
    var steps: [Step] = []
    for offset in 0..<Int64(2 + Intake.capacity) {
      steps += try bed.receive(Self.first, offset)
    }
    #expect(steps.count == 3, "two begin, and the last record is one too many: \(steps)")
    guard case .pause(let paused) = steps.last else { return #expect(Bool(false), "\(steps)") }
    #expect(Set(paused) == [Self.first, Self.second])
    // What joins paused ones is paused with them; other topics go on.
    let third = KafkaPartition(topic: Self.first.topic, partition: 2)
    #expect(bed.assigned([third]) == [.pause([third])])
    #expect(try bed.receive(Self.stragglers, 0).count == 1)
    var resumed: [KafkaPartition] = []
    var begun = 2
    while resumed.isEmpty, let run = (1...begun + 1).first(where: { bed.running[$0] != nil }) {
      _ = bed.end(run)
      for step in bed.beginWaiting() {
        switch step {
        case .begin: begun += 1
        case .resume(let partitions): resumed = partitions
        case .pause: #expect(Bool(false), "it has more room than before")
        }
      }
    }
    #expect(Set(resumed) == [Self.first, Self.second, third])
  }

  @Test func whatRunsAlreadyIsJoined() throws {
    let bed = dispatching()
    _ = try bed.receive(Self.first, 7)
    #expect(bed.join(message(Self.first, 7), number: 9))
    #expect(!bed.join(message(Self.first, 8), number: 10))
    #expect(bed.end(1)?.number == 9)
    #expect(!bed.join(message(Self.first, 7), number: 11))
  }

  @Test func whatOthersWorkOnIsAskedAboutAgainInItsTime() throws {
    let bed = dispatching()
    _ = try bed.receive(Self.first, 0)
    let run = try #require(bed.end(1))
    bed.scheduleRetry(run, until: 100)
    #expect(bed.dispatch.retries == 1)
    #expect(bed.wake(now: 99).isEmpty)
    #expect(bed.offsets(bed.wake(now: 100)) == [0])
    #expect(bed.dispatch.retries == 0)
  }

  @Test func stragglersRestAndTheirPartitionWithThem() throws {
    let bed = dispatching()
    let steps = try bed.receive(Self.stragglers, 0, notBefore: 100, now: 10)
    #expect(steps == [.pause([Self.stragglers])])
    #expect(bed.wake(now: 99).isEmpty)
    #expect(bed.wake(now: 100) == [.resume([Self.stragglers]), .begin(run: 1)])
  }

  @Test func aRecordThatWaitsForTheDeadLettersHoldsItsPartitionAndNoPlace() throws {
    let bed = dispatching()
    for offset in 0..<3 as Range<Int64> { _ = try bed.receive(Self.first, offset) }
    _ = try bed.receive(Self.second, 0)
    #expect(bed.block(1) == [.pause([Self.first])])
    // The place is another partition's: the next of its own waits.
    let begun = bed.beginWaiting()
    #expect(begun == [.begin(run: 3)])
    #expect(bed.running[3]?.message.source == Self.second)
    #expect(bed.running.count == 3)
    _ = bed.end(2)
    #expect(bed.beginWaiting().isEmpty)
    let held = try #require(bed.running[1])
    #expect(bed.unblock(held) == [.resume([Self.first])])
    #expect(bed.unblock(held).isEmpty, "once")
    #expect(bed.offsets(bed.beginWaiting()) == [2])
    #expect(bed.block(99).isEmpty)
  }

  @Test func ofPartitionsThatGoOnlyWhatRunsGoesOn() throws {
    let bed = dispatching()
    for offset in 0..<3 as Range<Int64> { _ = try bed.receive(Self.first, offset) }
    bed.revoked([Self.first])
    #expect(bed.dispatch.partitions == 2)
    #expect(bed.running.count == 2)
    let run = try #require(bed.end(1))
    #expect(bed.beginWaiting().isEmpty, "what waited is forgotten")
    bed.scheduleRetry(run, until: 0)
    #expect(bed.dispatch.retries == 0)
    // Nothing holds a partition that is another's.
    #expect(bed.block(2).isEmpty)
  }

  @Test func aDrainBeginsNothingMore() throws {
    let bed = dispatching()
    for offset in 0..<3 as Range<Int64> { _ = try bed.receive(Self.first, offset) }
    let steps = bed.drain()
    #expect(bed.dispatch.isDraining)
    let paused = steps.flatMap { step -> [KafkaPartition] in
      if case .pause(let partitions) = step { partitions } else { [] }
    }
    #expect(Set(paused) == [Self.first, Self.second, Self.stragglers])
    let run = try #require(bed.end(1))
    bed.scheduleRetry(run, until: 0)
    #expect(bed.dispatch.retries == 0)
    #expect(bed.beginWaiting().isEmpty)
    #expect(bed.wake(now: 1).isEmpty)
    // What comes now is paused as well.
    let third = KafkaPartition(topic: Self.first.topic, partition: 2)
    let more = bed.assigned([third])
    #expect(more.contains { $0 == .pause([third]) })
    #expect(bed.running.count == 1)
  }
}

/// Holds the machine, so that what changes it can be expected in one line.
private final class Dispatching {
  private(set) var dispatch: RecordDispatch
  var running: RunningRecords { dispatch.running }
  /// Of segments, by event.
  var slots: [String: Int] {
    Dictionary(
      uniqueKeysWithValues: running.slots(of: .segment).map { ($0.key.text, $0.value) })
  }

  init(_ dispatch: RecordDispatch) { self.dispatch = dispatch }

  func receive(
    _ partition: KafkaPartition, _ offset: Int64, key: String? = nil, notBefore: UInt64 = 0,
    now: UInt64 = 0
  ) throws -> [RecordDispatch.Step] {
    let kind = try #require(dispatch.kind(ofTopic: partition.topic))
    let record = Intake.Record(
      message: message(partition, offset, key: key), number: Int(offset), notBefore: notBefore)
    return dispatch.received(record, kind, now: now)
  }

  func assigned(_ partitions: [KafkaPartition]) -> [RecordDispatch.Step] {
    dispatch.assigned(partitions)
  }
  func revoked(_ partitions: Set<KafkaPartition>) { dispatch.revoked(partitions) }
  func drain() -> [RecordDispatch.Step] { dispatch.drain() }
  func join(_ message: KafkaMessage, number: Int) -> Bool {
    dispatch.join(message, number: number)
  }
  func wake(now: UInt64) -> [RecordDispatch.Step] { dispatch.wake(now: now) }
  func beginWaiting() -> [RecordDispatch.Step] { dispatch.beginWaiting(now: 0) }
  func releaseSlot(_ run: Int) { dispatch.releaseSlot(run) }
  func end(_ run: Int) -> RunningRecords.Run? { dispatch.end(run) }
  func scheduleRetry(_ run: RunningRecords.Run, until due: UInt64) {
    dispatch.scheduleRetry(run, until: due)
  }
  func block(_ run: Int) -> [RecordDispatch.Step] { dispatch.block(run) }
  func unblock(_ run: RunningRecords.Run) -> [RecordDispatch.Step] { dispatch.unblock(run) }

  /// The offsets of the records that begin.
  func offsets(_ steps: [RecordDispatch.Step]) -> [Int64] {
    steps.compactMap { step in
      guard case .begin(let run) = step else { return nil }
      return dispatch.running[run]?.message.offset
    }
  }
}

private func message(
  _ partition: KafkaPartition, _ offset: Int64, key: String? = nil
) -> KafkaMessage {
  KafkaMessage(
    topic: partition.topic, partition: partition.partition, offset: offset,
    key: key.map { Array($0.utf8) }, value: nil)
}
