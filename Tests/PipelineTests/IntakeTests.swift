import Kafka
import Testing
import Text

@testable import Pipeline

@Suite struct IntakeTests {
  private let first = KafkaPartition(topic: "events", partition: 0)
  private let second = KafkaPartition(topic: "events", partition: 1)

  private func intake(_ partitions: [KafkaPartition]) -> Intake {
    var intake = Intake(kind: .event, topic: "events")
    _ = intake.assigned(partitions)
    return intake
  }

  private func message(_ partition: KafkaPartition, _ offset: Int64) -> KafkaMessage {
    KafkaMessage(
      topic: partition.topic, partition: partition.partition, offset: offset, key: nil,
      value: nil)
  }

  private func add(_ intake: inout Intake, _ partition: KafkaPartition, _ offset: Int64) {
    _ = intake.append(.init(message: message(partition, offset), number: Int(offset)))
  }

  private func fill(_ intake: inout Intake, _ partition: KafkaPartition, _ count: Int) {
    for offset in 0..<count { add(&intake, partition, Int64(offset)) }
  }

  @Test func pausesWhenFullAndGoesOnWhenNearlyEmpty() {
    var intake = intake([first, second])
    fill(&intake, first, Intake.capacity - 1)
    #expect(intake.balance().pause.isEmpty)
    add(&intake, second, 0)
    #expect(Set(intake.balance().pause) == [first, second])
    #expect(intake.balance().pause.isEmpty)
    var resumed: [KafkaPartition] = []
    var taken = 0
    while resumed.isEmpty, intake.next() != nil {
      taken += 1
      resumed = intake.balance().resume
    }
    #expect(taken == Intake.capacity - Intake.capacity / 4)
    #expect(Set(resumed) == [first, second])
  }

  private func slots(_ taken: [String: Int]) -> [ExactText: Int] {
    Dictionary(uniqueKeysWithValues: taken.map { (ExactText($0.key), $0.value) })
  }

  /// Segments of three events, as they stand in two partitions.
  private func segments(_ kind: WorkKind) -> Intake {
    var intake = Intake(kind: kind, topic: "events")
    _ = intake.assigned([first, second])
    for (offset, key) in ["a/0", "a/1", "b/0", "a/2", "c/0", "b/1"].enumerated() {
      let message = KafkaMessage(
        topic: "events", partition: Int32(offset % 2), offset: Int64(offset), key: Array(key.utf8),
        value: nil)
      _ = intake.append(.init(message: message, number: offset))
    }
    return intake
  }

  @Test(arguments: [WorkKind.segment, .bulk])
  func theNextSegmentIsOfTheEventThatHasTheFewestSlots(kind: WorkKind) {
    var intake = segments(kind)
    #expect(intake.next(slots: slots(["a": 2, "b": 1]))?.message.offset == 4)
    #expect(intake.next(slots: slots(["a": 2, "b": 1, "c": 1]))?.message.offset == 2)
    #expect(intake.next(slots: slots(["a": 2, "b": 2, "c": 1]))?.message.offset == 0)
    #expect(intake.next(slots: [:])?.message.offset == 1)
    #expect(intake.block(.init(partition: second, offset: 9)) == [second])
    #expect(intake.next() == nil, "what is left is of a partition that rests")
  }

  @Test(arguments: [WorkKind.event, .straggler])
  func othersKeepTheirOrder(kind: WorkKind) {
    var intake = segments(kind)
    for offset in 0..<6 as Range<Int64> {
      #expect(intake.next(slots: slots(["a": 5, "b": 1]))?.message.offset == offset)
    }
  }

  @Test func pausesPartitionsThatJoinPausedOnes() {
    var intake = intake([first])
    fill(&intake, first, Intake.capacity)
    _ = intake.balance()
    let third = KafkaPartition(topic: "others", partition: 0)
    #expect(intake.assigned([second, third]) == [second])
    while intake.next() != nil {}
    #expect(Set(intake.balance().resume) == [first, second])
  }

  @Test func goesOnWhenTheFullPartitionsAreTakenAway() {
    var intake = intake([first, second])
    fill(&intake, first, Intake.capacity)
    _ = intake.balance()
    intake.revoked([first])
    #expect(intake.next() == nil)
    #expect(intake.balance().resume == [second])
  }

  @Test func isNotPausedAfterAllPartitionsWereTakenAway() {
    var intake = intake([first])
    fill(&intake, first, Intake.capacity)
    _ = intake.balance()
    intake.revoked([first])
    #expect(intake.assigned([first]).isEmpty)
  }

  @Test func letsOtherPartitionsPassOneThatIsBlocked() {
    var intake = intake([first, second])
    fill(&intake, first, Intake.capacity)
    add(&intake, second, 7)
    let record = Intake.Blocked(partition: first, offset: 100)
    let other = Intake.Blocked(partition: first, offset: 101)
    #expect(intake.block(record) == [first])
    _ = intake.block(other)
    // What is blocked does not count as full.
    #expect(intake.waiting == 1)
    #expect(intake.balance().pause.isEmpty)
    #expect(intake.next()?.message.source == second)
    #expect(intake.next() == nil)
    #expect(intake.unblock(record).isEmpty)
    #expect(intake.unblock(other) == [first])
    #expect(intake.next()?.message.offset == 0)
  }

  @Test func readsNothingMoreWhenWhatIsBlockedIsTooLarge() {
    var intake = intake([first, second])
    let half = Intake.maximumBytes / 2
    let record = Intake.Blocked(partition: first, offset: 1, bytes: half)
    let other = Intake.Blocked(partition: first, offset: 2, bytes: half)
    _ = intake.block(record)
    #expect(intake.balance().pause.isEmpty)
    _ = intake.block(other)
    #expect(Set(intake.balance().pause) == [first, second])
    _ = intake.unblock(record)
    #expect(intake.balance().resume == [second])
  }

  @Test func doesNotResumeABlockedPartitionWithTheOthers() {
    var intake = intake([first, second])
    fill(&intake, second, Intake.capacity)
    _ = intake.balance()
    let record = Intake.Blocked(partition: first, offset: 1)
    _ = intake.block(record)
    while intake.next() != nil {}
    #expect(intake.balance().resume == [second])
    #expect(intake.unblock(record) == [first])
  }

  @Test func forgetsWhatWasBlockedInAPartitionThatIsTakenAway() {
    var intake = intake([first])
    let record = Intake.Blocked(partition: first, offset: 1)
    _ = intake.block(record)
    intake.revoked([first])
    _ = intake.assigned([first])
    add(&intake, first, 1)
    #expect(intake.waiting == 1)
    #expect(intake.unblock(record).isEmpty)
    #expect(intake.block(.init(partition: second, offset: 1)).isEmpty)
  }

  @Test func restsUntilARecordsTimeHasComeAndReadsNoFurther() {
    var intake = intake([first, second])
    let early = Intake.Record(message: message(first, 1), number: 1, notBefore: 100)
    let late = Intake.Record(message: message(first, 2), number: 2, notBefore: 200)
    #expect(intake.append(early, now: 50) == [first])
    #expect(intake.append(late, now: 50).isEmpty)
    add(&intake, second, 7)
    #expect(intake.next(now: 50)?.message.source == second)
    #expect(intake.next(now: 50) == nil)
    #expect(intake.wake(now: 99).isEmpty)
    // The later one rests still, so the partition stays paused.
    #expect(intake.wake(now: 100).isEmpty)
    #expect(intake.next(now: 100)?.number == 1)
    #expect(intake.next(now: 199) == nil)
    #expect(intake.wake(now: 200) == [first])
    #expect(intake.next(now: 200)?.number == 2)
  }

  /// Kafka gives a partition back unpaused.
  @Test func aPartitionThatRestedRestsAgainWhenItComesBack() {
    var intake = intake([first])
    let early = Intake.Record(message: message(first, 1), number: 1, notBefore: 100)
    #expect(intake.append(early, now: 50) == [first])
    intake.revoked([first])
    #expect(intake.assigned([first]).isEmpty)
    #expect(intake.append(early, now: 60) == [first])
    #expect(intake.wake(now: 100) == [first])
  }

  @Test func asksAgainForWhatOthersWorkOn() {
    var intake = intake([first])
    let record = Intake.Record(message: message(first, 1), number: 1)
    intake.scheduleRetry(record, until: 100)
    add(&intake, first, 2)
    #expect(intake.next(now: 0)?.number == 2)
    #expect(intake.next(now: 0) == nil)
    _ = intake.wake(now: 100)
    #expect(intake.next(now: 100)?.number == 1)
    intake.scheduleRetry(record, until: 200)
    intake.revoked([first])
    _ = intake.assigned([first])
    _ = intake.wake(now: 200)
    #expect(intake.next(now: 200) == nil)
    // Of a partition that is gone nothing is kept.
    intake.scheduleRetry(.init(message: message(second, 1), number: 3), until: 0)
    #expect(intake.retryCount == 0)
  }

  @Test func readsNothingMoreWhileTooManyAreToBeRetried() {
    var intake = intake([first])
    for offset in 0..<Intake.maximumRetries {
      intake.scheduleRetry(
        .init(message: message(first, Int64(offset)), number: offset), until: 100)
    }
    #expect(intake.balance().pause == [first])
    #expect(intake.balance().resume.isEmpty)
    _ = intake.wake(now: 100)
    while intake.next(now: 100) != nil {}
    #expect(intake.balance().resume == [first])
  }
}
