import Kafka
import Testing

/// On the embedded broker, whose groups take three seconds to form.
@Suite struct LagTests {
  /// Also of a partition that is paused, whose end the client does not hear of.
  @Test func saysHowManyRecordsAreNotCommitted() async throws {
    let broker = try EmbeddedBroker(topics: [("t", 2)])
    let options = options(broker.bootstrapServers)
    let producer = try KafkaProducer(options, log: silent)
    try await producer.sendNumbers(0..<5, to: "t", partition: 0)
    let consumer = try KafkaConsumer(options, topics: ["t"], log: silent)
    try consumer.subscribe()
    _ = consumer.collectMessages(5)
    let (first, second) = (
      KafkaPartition(topic: "t", partition: 0), KafkaPartition(topic: "t", partition: 1)
    )
    consumer.collectLag([first: 5, second: 0])
    consumer.pause([first, second])
    consumer.commit([first: 3])
    _ = consumer.collect { !$0.committed.isEmpty }
    try await producer.sendNumbers(5..<12, to: "t", partition: 0)
    try await producer.sendNumbers(0..<4, to: "t", partition: 1)
    consumer.collectLag([first: 9, second: 4])
    #expect(consumer.close(timeout: .seconds(5)))
    #expect(consumer.lag.isEmpty)
    producer.close(timeout: .seconds(1))
  }

  /// The same for whoever is in no group.
  @Test func anAdministratorSaysHowManyRecordsAreNotCommitted() async throws {
    let broker = try EmbeddedBroker(topics: [("t", 2), ("u", 1)])
    let options = options(broker.bootstrapServers)
    let admin = KafkaAdmin(options, log: silent)
    let producer = try KafkaProducer(options, log: silent)
    try await producer.sendNumbers(0..<5, to: "t", partition: 0)
    try await producer.sendNumbers(0..<2, to: "t", partition: 1)
    let partitions = ["t": 2, "u": 1]
    #expect(try admin.lag(of: partitions, timeout: .seconds(60)) == ["t": 7, "u": 0])
    let consumer = try KafkaConsumer(options, topics: ["t"], log: silent)
    try consumer.subscribe()
    _ = consumer.collectMessages(7)
    consumer.commit([KafkaPartition(topic: "t", partition: 0): 3])
    _ = consumer.collect { !$0.committed.isEmpty }
    #expect(try admin.lag(of: partitions, timeout: .seconds(60)) == ["t": 4, "u": 0])
    #expect(consumer.close(timeout: .seconds(5)))
    producer.close(timeout: .seconds(1))
    let unsupported = #expect(throws: KafkaError.self) {
      try admin.group(timeout: .seconds(60))
    }
    #expect(unsupported?.code == .unsupported)
  }
}
