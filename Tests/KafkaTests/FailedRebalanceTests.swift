import Testing

@testable import Kafka

@Suite struct FailedRebalanceTests {
  /// librdkafka keeps a pause beyond the assignment: a partition that was paused when a rebalance
  /// failed must be read when it comes back.
  @Test func whatWasPausedIsReadAgainLater() async throws {
    let broker = try EmbeddedBroker(topics: [("t", 1)])
    let options = options(broker.bootstrapServers)
    let producer = try KafkaProducer(options, log: silent)
    try await producer.sendNumbers(0..<5, to: "t")
    let consumer = try KafkaConsumer(options, topics: ["t"], log: silent)
    try consumer.subscribe()
    #expect(consumer.collectMessages(1).first?.offset == 0)
    let partition = KafkaPartition(topic: "t", partition: 0)
    consumer.pause([partition])
    #expect(consumer.paused == [partition])
    consumer.state.rebalanceFailed(
      consumer.client, KafkaError(code: .other, message: "joining the group: refused"))
    #expect(consumer.assignment == [] && consumer.paused == [])
    let polled = consumer.collect { $0.contains(.lost([partition])) }
    #expect(polled.errors.map(\.code) == [.other])
    try consumer.subscribe()
    #expect(consumer.collectMessages(5).map(\.offset) == Array(0..<5))
    #expect(consumer.close(timeout: .seconds(5)))
    producer.close(timeout: .seconds(1))
  }
}
