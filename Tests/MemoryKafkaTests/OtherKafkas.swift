import Glibc
import Kafka
import ServerProcesses

/// A Kafka that lives in this one's time, and the clients that ship.
@KafkaContract protocol KafkaOfTheSystem: KafkaUnderTest {
  var began: ContinuousClock.Instant { get }
}

extension KafkaOfTheSystem {
  var elapsed: Duration { ContinuousClock.now - began }

  func consumer(_ options: KafkaOptions, _ topics: [String]) throws -> any GroupConsumer {
    try KafkaConsumer(options, topics: topics, log: { _ in })
  }

  func producer(_ options: KafkaOptions) throws -> any RecordProducer {
    try KafkaProducer(options, log: { _ in })
  }

  func pass() {}

  func settle<Value: Sendable>(
    _ work: @escaping @Sendable @KafkaContract () async throws -> Value
  ) async throws -> Value { try await work() }

  func options(_ bootstrapServers: String, group: String) -> KafkaOptions {
    var options = KafkaOptions(bootstrapServers: bootstrapServers)
    options.group = group
    options.fetchWaitMaximum = .milliseconds(10)
    options.messageTimeout = .seconds(60)
    // Who wants to hear of it says so.
    options.reachabilityInterval = .seconds(3600)
    return options
  }
}

/// librdkafka's mock cluster.
@KafkaContract final class EmbeddedUnderTest: KafkaOfTheSystem {
  private let broker: EmbeddedBroker
  let began = ContinuousClock.now
  private var lastTopic = 0

  init() throws { broker = try EmbeddedBroker(topics: []) }

  /// The mock cluster lets a first member wait for three seconds, so a session must be longer.
  var options: KafkaOptions {
    var options = options(broker.bootstrapServers, group: "g")
    options.sessionTimeout = .seconds(4)
    return options
  }

  func makeTopic(partitions: Int) throws -> String {
    lastTopic += 1
    try broker.create(topic: "t\(lastTopic)", partitions: partitions)
    return "t\(lastTopic)"
  }

  func setAway(_ isAway: Bool) { broker.setDown(isAway) }

  func failCommit(_ failure: ContractFailure) {
    broker.fail(next: .offsetCommit, with: [Self.failure(failure)])
  }

  func failProduce(_ failure: ContractFailure) {
    broker.fail(next: .produce, with: [Self.failure(failure)])
  }

  private static func failure(_ failure: ContractFailure) -> EmbeddedBroker.Failure {
    switch failure {
    case .rebalanceInProgress: .rebalanceInProgress
    case .illegalGeneration: .illegalGeneration
    case .topicAuthorizationFailed: .topicAuthorizationFailed
    case .notLeader: .notLeader
    case .coordinatorNotAvailable: .coordinatorNotAvailable
    case .disconnect: .disconnect
    }
  }

  /// The mock cluster keeps the last 5 MiB of a partition.
  func overtake(_ partition: KafkaPartition, _ producer: any RecordProducer) async throws {
    for _ in 0..<8 {
      _ = try await producer.send(
        topic: partition.topic, partition: partition.partition, key: nil,
        value: [UInt8](repeating: 65, count: 900_000), headers: [])
    }
  }
}

/// An Apache Kafka. Others use the same broker.
@KafkaContract final class ApacheUnderTest: KafkaOfTheSystem {
  private let kafka: RealKafka
  private let name = "contract-" + String(UInt64.random(in: .min ... .max), radix: 16)
  let began = ContinuousClock.now
  private var lastTopic = 0

  init() throws { kafka = try RealKafka() }

  var options: KafkaOptions { options(kafka.bootstrapServers, group: name) }

  func makeTopic(partitions: Int) throws -> String {
    lastTopic += 1
    let topic = "\(name)-\(lastTopic)"
    try kafka.createTopics([(topic, partitions)], as: options)
    return topic
  }

  func overtake(_ partition: KafkaPartition, _ producer: any RecordProducer) async throws {
    var end: Int64 = 0
    for number in 0..<8 {
      end = try await producer.send(
        topic: partition.topic, partition: partition.partition, key: nil, value: [UInt8(number)],
        headers: []
      ).offset
    }
    try delete(before: end, of: partition)
  }

  func delete(before offset: Int64, of partition: KafkaPartition) throws {
    try KafkaAdmin(options, log: { _ in })
      .deleteRecords(before: offset, of: partition, timeout: .seconds(30))
  }

  func writeInTransactions(_ count: Int, to partition: KafkaPartition) throws {
    try RealKafka.run(
      tool: "ProducerPerformance",
      [
        "--topic", partition.topic, "--num-records", "\(count)", "--record-size", "10",
        "--throughput", "-1", "--producer-props", "bootstrap.servers=\(kafka.bootstrapServers)",
        "--transactional-id", partition.topic, "--transaction-duration-ms", "1000",
      ])
  }
}
