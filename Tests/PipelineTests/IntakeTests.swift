import Kafka
import Testing

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

  private func fill(_ intake: inout Intake, _ partition: KafkaPartition, _ count: Int) {
    for offset in 0..<count { intake.append(message(partition, Int64(offset))) }
  }

  @Test func pausesWhenFullAndGoesOnWhenNearlyEmpty() {
    var intake = intake([first, second])
    fill(&intake, first, Intake.capacity - 1)
    #expect(intake.balance().pause.isEmpty)
    intake.append(message(second, 0))
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

  @Test func letsOtherPartitionsPassOneThatIsStuck() {
    var intake = intake([first, second])
    fill(&intake, first, Intake.capacity)
    intake.append(message(second, 7))
    let record = Intake.Stuck(partition: first, offset: 100, assignment: 1)
    let other = Intake.Stuck(partition: first, offset: 101, assignment: 1)
    #expect(intake.block(record) == [first])
    _ = intake.block(other)
    // What is stuck does not count as full.
    #expect(intake.waiting == 1)
    #expect(intake.balance().pause.isEmpty)
    #expect(intake.next()?.source == second)
    #expect(intake.next() == nil)
    #expect(intake.unblock(record).isEmpty)
    #expect(intake.unblock(other) == [first])
    #expect(intake.next()?.offset == 0)
  }

  @Test func doesNotResumeAStuckPartitionWithTheOthers() {
    var intake = intake([first, second])
    fill(&intake, second, Intake.capacity)
    _ = intake.balance()
    let record = Intake.Stuck(partition: first, offset: 1, assignment: 1)
    _ = intake.block(record)
    while intake.next() != nil {}
    #expect(intake.balance().resume == [second])
    #expect(intake.unblock(record) == [first])
  }

  @Test func forgetsWhatWasStuckInAPartitionThatIsTakenAway() {
    var intake = intake([first])
    let record = Intake.Stuck(partition: first, offset: 1, assignment: 1)
    _ = intake.block(record)
    intake.revoked([first])
    _ = intake.assigned([first])
    intake.append(message(first, 1))
    #expect(intake.waiting == 1)
    #expect(intake.unblock(record).isEmpty)
    #expect(intake.block(.init(partition: second, offset: 1, assignment: 1)).isEmpty)
  }
}
