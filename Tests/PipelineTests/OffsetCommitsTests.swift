import Fixtures
import Kafka
import Telemetry
import Testing

@testable import Pipeline

@Suite struct OffsetCommitsTests {
  private let consumer = CommitRecorder()
  private let commits: OffsetCommits
  private let partitions = (0..<2).map { KafkaPartition(topic: "t", partition: $0) }

  init() {
    commits = OffsetCommits(
      consumer: consumer, counters: WorkerCounters(),
      log: Log(LogOptions(), sink: MemorySink()))
    commits.assigned(partitions)
  }

  /// Each partition is done up to the offset, and the next commit is due.
  private func commit(_ offsets: Int64...) {
    for (partition, offset) in zip(partitions, offsets) { commits.reachedEnd(partition, offset) }
    commits.commit()
  }

  /// librdkafka sends a commit again that found no coordinator, and does so behind newer ones.
  @Test func aCommitWaitsForTheAnswerToTheOneBefore() {
    commit(5, 7)
    commit(8, 9)
    #expect(consumer.committed == [[partitions[0]: 5, partitions[1]: 7]])
    commits.succeeded([partitions[0]: 5, partitions[1]: 7])
    commits.commit()
    #expect(consumer.committed.last == [partitions[0]: 8, partitions[1]: 9])
  }

  @Test func aRefusedCommitIsMadeAgain() {
    commit(5, 7)
    commits.failed(
      [partitions[0]], KafkaError(code: .rebalanced, message: "not now"))
    commits.succeeded([partitions[1]: 7])
    commits.commit()
    #expect(consumer.committed.dropFirst() == [[partitions[0]: 5]])
  }

  @Test func partitionsThatAreTakenAwayAreNotWaitedFor() {
    commit(5, 7)
    commits.succeeded([partitions[1]: 7])
    commits.revoked([partitions[0]])
    commits.reachedEnd(partitions[1], 9)
    commits.commit()
    #expect(consumer.committed.dropFirst() == [[partitions[1]: 9]])
  }

  /// It began before the partition went, and Kafka took it after the last commit.
  @Test func whatALateCommitSetBackIsCommittedAgain() {
    commit(5)
    commits.succeeded([partitions[0]: 8, partitions[1]: 3])
    commits.revoked(partitions)
    commits.assigned(partitions)
    commits.succeeded([partitions[0]: 5])
    #expect(consumer.committed == [[partitions[0]: 5], [partitions[0]: 8]])
    commits.succeeded([partitions[0]: 8])
    commits.succeeded([partitions[0]: 5])
    #expect(consumer.committed.count == 2)
  }

  /// It is another worker's to commit.
  @Test func nothingIsCommittedAgainOfAPartitionThatStaysAway() {
    commit(5)
    commits.succeeded([partitions[0]: 8])
    commits.revoked(partitions)
    consumer.assignment = []
    commits.succeeded([partitions[0]: 5])
    #expect(consumer.committed.count == 1)
  }
}

/// Remembers what is committed, and answers nothing.
private final class CommitRecorder: GroupConsumer {
  private(set) var committed: [[KafkaPartition: Int64]] = []
  var offsetsToCommitOnRevoke: (([KafkaPartition]) -> [KafkaPartition: Int64])?
  var asksBeforeRevoke = false
  var assignment = Set((0..<2).map { KafkaPartition(topic: "t", partition: $0) })
  var lag: [KafkaPartition: Int64] { [:] }

  func subscribe() {}
  func unsubscribe() {}
  func poll(timeout: Duration) -> KafkaPoll? { nil }
  func wake(by waker: ConsumerWaker?) {}
  func pause(_ partitions: [KafkaPartition]) {}
  func resume(_ partitions: [KafkaPartition]) {}
  func commit(_ offsets: [KafkaPartition: Int64]) { committed.append(offsets) }
  func commitNow(_ offsets: [KafkaPartition: Int64], timeout: Duration) {}
  func giveUpRevoked() {}
  func measureLag() {}
  func close(timeout: Duration) -> Bool { true }
}
