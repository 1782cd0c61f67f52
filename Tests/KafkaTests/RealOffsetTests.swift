import Kafka
import Processes
import ServerProcesses
import Testing

/// Offsets as a real broker gives them: those of transactions, and of records that were deleted.
@Suite(.enabled(if: RealKafka.hasTools, "FANFARE_KAFKA_HOME has no tools of Apache Kafka"))
struct RealOffsetTests {
  /// The last offset of the partition is that of a control record, which nobody is ever given; it
  /// is no lost record either.
  @Test func theEndBehindATransactionIsReached() async throws {
    let kafka = try RealKafka()
    let options = Self.options(kafka)
    let topic = options.group
    try kafka.createTopics([(topic, 1)], as: options)
    let partition = KafkaPartition(topic: topic, partition: 0)
    try Self.writeInTransactions(3, to: topic, kafka)
    let consumer = try KafkaConsumer(options, topics: [topic], log: silent)
    try consumer.subscribe()
    var last: Int64 = 0
    let polled = consumer.collect { polled in
      last = polled.end(of: partition) ?? 0
      return polled.messages.count == 3 && last > (polled.messages.last?.offset ?? 0) + 1
    }
    #expect(polled.skipped.isEmpty && polled.errors.isEmpty)
    try consumer.commitNow([partition: last], timeout: .seconds(10))
    consumer.collectLag([partition: 0])
    #expect(consumer.close(timeout: .seconds(10)))

    // Another member begins behind it, and is told of nothing.
    try Self.writeInTransactions(1, to: topic, kafka)
    let next = try KafkaConsumer(options, topics: [topic], log: silent)
    try next.subscribe()
    let more = next.collect { ($0.end(of: partition) ?? 0) > last }
    #expect(more.messages.map(\.offset) == [last] && more.skipped.isEmpty)
    #expect(next.close(timeout: .seconds(10)))
  }

  /// All that the partition had: nothing comes behind it that would show the gap.
  @Test func whatWasDeletedIsSaidThoughNothingFollows() async throws {
    let kafka = try RealKafka()
    let options = Self.options(kafka)
    let topic = options.group
    try kafka.createTopics([(topic, 1)], as: options)
    let partition = KafkaPartition(topic: topic, partition: 0)
    let producer = try KafkaProducer(options, log: silent)
    try await producer.sendNumbers(0..<10, to: topic, partition: 0)
    let first = try KafkaConsumer(options, topics: [topic], log: silent)
    try first.subscribe()
    _ = first.collectMessages(10)
    try first.commitNow([partition: 4], timeout: .seconds(10))
    #expect(first.close(timeout: .seconds(10)))
    try Self.delete(10, of: partition, kafka)
    let second = try KafkaConsumer(options, topics: [topic], log: silent)
    try second.subscribe()
    let polled = second.collect { !$0.skipped.isEmpty }
    #expect(polled.skipped == [partition: [4..<10]] && polled.messages.isEmpty)
    // While it reads.
    try await producer.sendNumbers(10..<11, to: topic, partition: 0)
    _ = second.collectMessages(1)
    second.pause([partition])
    try await producer.sendNumbers(11..<20, to: topic, partition: 0)
    try Self.delete(15, of: partition, kafka)
    second.resume([partition])
    let more = second.collect { $0.messages.count >= 5 }
    #expect(more.skipped == [partition: [11..<15]])
    #expect(second.close(timeout: .seconds(10)))
    producer.close(timeout: .seconds(1))
  }

  private static func options(_ kafka: RealKafka) -> KafkaOptions {
    var options = KafkaOptions(bootstrapServers: kafka.bootstrapServers)
    options.group = "offsets-" + String(UInt64.random(in: .min ... .max), radix: 16)
    options.fetchWaitMaximum = .milliseconds(10)
    return options
  }

  private static func writeInTransactions(
    _ count: Int, to topic: String, _ kafka: RealKafka
  ) throws {
    try RealKafka.run(
      tool: "ProducerPerformance",
      [
        "--topic", topic, "--num-records", "\(count)", "--record-size", "10", "--throughput", "-1",
        "--producer-props", "bootstrap.servers=\(kafka.bootstrapServers)", "--transactional-id",
        topic, "--transaction-duration-ms", "1000",
      ])
  }

  private static func delete(
    _ before: Int, of partition: KafkaPartition, _ kafka: RealKafka
  ) throws {
    let directory = try ScratchDirectory()
    let file = try directory.write(
      """
      {"version":1,"partitions":[{"topic":"\(partition.topic)",\
      "partition":\(partition.partition),"offset":\(before)}]}
      """, to: "delete.json")
    try RealKafka.run(
      tool: "DeleteRecordsCommand",
      ["--bootstrap-server", kafka.bootstrapServers, "--offset-json-file", file])
  }
}
