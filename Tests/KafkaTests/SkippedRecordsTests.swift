import Kafka
import Testing

/// The embedded broker keeps the last 5 MiB of a partition.
@Suite struct SkippedRecordsTests {
  private static let partition = KafkaPartition(topic: "t", partition: 0)

  @Test func whatIsThrownAwayBeforeAMemberComesIsSaid() async throws {
    let broker = try EmbeddedBroker(topics: [("t", 1)])
    let options = options(broker.bootstrapServers)
    let producer = try KafkaProducer(options, log: silent)
    try await producer.sendNumbers(0..<3, to: "t", partition: 0)
    let first = try KafkaConsumer(options, topics: ["t"], log: silent)
    try first.subscribe()
    _ = first.collectMessages(3)
    try first.commitNow([Self.partition: 2], timeout: .seconds(10))
    #expect(first.close(timeout: .seconds(5)))
    try await Self.flood(producer)
    let second = try KafkaConsumer(options, topics: ["t"], log: silent)
    try second.subscribe()
    let polled = second.collect { !$0.messages.isEmpty }
    let next = try #require(polled.messages.first?.offset)
    #expect(next > 3 && polled.skipped == [Self.partition: [2..<next]])
    #expect(second.close(timeout: .seconds(5)))
    producer.close(timeout: .seconds(1))
  }

  /// As while lanes have enough to do.
  @Test func whatIsThrownAwayWhileAPartitionIsPausedIsSaid() async throws {
    let broker = try EmbeddedBroker(topics: [("t", 1)])
    let options = options(broker.bootstrapServers)
    let producer = try KafkaProducer(options, log: silent)
    try await producer.sendNumbers(0..<1, to: "t", partition: 0)
    let consumer = try KafkaConsumer(options, topics: ["t"], log: silent)
    try consumer.subscribe()
    _ = consumer.collectMessages(1)
    consumer.pause([Self.partition])
    try await Self.flood(producer)
    consumer.resume([Self.partition])
    let polled = consumer.collect { !$0.messages.isEmpty }
    let next = try #require(polled.messages.first?.offset)
    #expect(next > 1 && polled.skipped == [Self.partition: [1..<next]])
    #expect(consumer.close(timeout: .seconds(5)))
    producer.close(timeout: .seconds(1))
  }

  @Test func aGroupThatBeginsMissesNothing() async throws {
    let broker = try EmbeddedBroker(topics: [("t", 1)])
    let options = options(broker.bootstrapServers)
    let producer = try KafkaProducer(options, log: silent)
    try await Self.flood(producer)
    let consumer = try KafkaConsumer(options, topics: ["t"], log: silent)
    try consumer.subscribe()
    let polled = consumer.collect { !$0.messages.isEmpty }
    #expect(polled.messages[0].offset > 0 && polled.skipped.isEmpty)
    #expect(consumer.close(timeout: .seconds(5)))
    producer.close(timeout: .seconds(1))
  }

  private static func flood(_ producer: KafkaProducer) async throws {
    for _ in 0..<8 {
      _ = try await producer.send(
        topic: "t", partition: 0, key: nil, value: [UInt8](repeating: 65, count: 900_000))
    }
  }
}
