import Kafka
import MemoryKafka

/// A Kafka in memory, with delays from a seed.
@KafkaContract final class MemoryUnderTest: KafkaUnderTest {
  let time: ManualTime
  let broker: MemoryBroker
  let host: MemoryHost
  private var lastTopic = 0
  private let began: UInt64

  init(seed: UInt64 = 7) {
    let time = ManualTime(seed: seed)
    self.time = time
    broker = MemoryBroker(time.memoryTime)
    broker.delay = { _ in .microseconds(Int64(time.next() % 4000)) }
    host = broker.host("test")
    began = time.now
  }

  deinit { broker.end() }

  var options: KafkaOptions {
    var options = KafkaOptions(bootstrapServers: "memory")
    options.group = "g"
    options.sessionTimeout = .seconds(4)
    options.messageTimeout = .seconds(60)
    // Who wants to hear of it says so.
    options.reachabilityInterval = .seconds(3600)
    return options
  }

  var elapsed: Duration { .nanoseconds(Int64(time.now - began)) }

  func makeTopic(partitions: Int) -> String {
    lastTopic += 1
    broker.create(topic: "t\(lastTopic)", partitions: partitions)
    return "t\(lastTopic)"
  }

  func consumer(_ options: KafkaOptions, _ topics: [String]) -> any GroupConsumer {
    host.consumer(options, topics: topics)
  }

  func producer(_ options: KafkaOptions) -> any RecordProducer { host.producer(options) }

  func pass() { time.advance(by: .milliseconds(5)) }

  func settle<Value: Sendable>(
    _ work: @escaping @Sendable @KafkaContract () async throws -> Value
  ) async throws -> Value {
    let end = Flag()
    let task = Task { @KafkaContract in
      defer { end.isSet = true }
      return try await work()
    }
    while !end.isSet {
      // Others of this actor go first, then time passes.
      await Task.yield()
      time.advance(by: .microseconds(500))
    }
    return try await task.value
  }

  @KafkaContract private final class Flag { var isSet = false }

  func setAway(_ isAway: Bool) { broker.setAway(isAway) }

  func failCommit(_ failure: ContractFailure) {
    broker.fail(next: .commit, with: [Self.failure(failure)])
  }

  func failProduce(_ failure: ContractFailure) {
    broker.fail(next: .produce, with: [Self.failure(failure)])
  }

  private static func failure(_ failure: ContractFailure) -> MemoryFailure {
    switch failure {
    case .rebalanceInProgress: .rebalanceInProgress
    case .illegalGeneration: .illegalGeneration
    case .topicAuthorizationFailed: .topicAuthorizationFailed
    case .notLeader: .notLeader
    case .coordinatorNotAvailable: .coordinatorNotAvailable
    case .disconnect: .disconnect
    }
  }

  func overtake(_ partition: KafkaPartition, _ producer: any RecordProducer) async throws {
    for _ in 0..<8 { broker.appendControlRecord(to: partition) }
    for number in 0..<2 {
      broker.append(
        MemoryRecord(key: nil, value: [UInt8(number)], timestamp: 0), to: partition)
    }
    broker.deleteRecords(of: partition, before: (broker.end(of: partition) ?? 0) - 2)
  }

  func delete(before offset: Int64, of partition: KafkaPartition) {
    broker.deleteRecords(of: partition, before: offset)
  }

  func writeInTransactions(_ count: Int, to partition: KafkaPartition) {
    for _ in 0..<count {
      broker.append(MemoryRecord(key: nil, value: [1], timestamp: 0), to: partition)
    }
    broker.appendControlRecord(to: partition)
  }

  func makeAgain(_ topic: String, partitions: Int) {
    broker.delete(topic: topic)
    broker.create(topic: topic, partitions: partitions)
  }
}
