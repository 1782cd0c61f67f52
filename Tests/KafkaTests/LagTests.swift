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
}
