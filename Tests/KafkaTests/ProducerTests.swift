import Kafka
import Testing

@Suite struct ProducerTests {
  @Test func reportsWhereEachRecordWent() async throws {
    let broker = try EmbeddedBroker(topics: [("t", 2)])
    let producer = try KafkaProducer(options(broker.bootstrapServers), log: silent)
    try producer.prepare(topics: ["t"], timeout: .seconds(5))
    for offset in 0..<3 {
      let delivery = try await producer.send(
        topic: "t", partition: 1, key: nil, value: [UInt8(offset)])
      #expect(delivery == KafkaDelivery(partition: 1, offset: Int64(offset)))
    }
    producer.close(timeout: .seconds(1))
  }

  /// The hashes are those of Kafka's own tests of murmur2 (UtilsTest): whatever client writes a
  /// streamer's events, they are in one partition and so in order.
  @Test func placesKeysAsKafkasOwnClientsDo() async throws {
    let broker = try EmbeddedBroker(topics: [("t", 16)])
    let producer = try KafkaProducer(options(broker.bootstrapServers), log: silent)
    let hashes: [(key: String, hash: Int32)] = [
      ("21", -973_932_308), ("foobar", -790_332_482), ("a-little-bit-long-string", -985_981_536),
      ("a-little-bit-longer-string", -1_486_304_829),
      ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971), ("abc", 479_470_107),
    ]
    for (key, hash) in hashes {
      let delivery = try await producer.send(topic: "t", key: Array(key.utf8), value: [1])
      #expect(delivery.partition == (hash & .max) % 16, "\(key)")
    }
    producer.close(timeout: .seconds(1))
  }

  /// Each partition gets as many segments of a fan-out as any other, and where the first goes is
  /// the fan-out's own.
  @Test func keysWithANumberAtTheirEndGoByTurns() async throws {
    let broker = try EmbeddedBroker(topics: [("spread", 8), ("t", 8)])
    let producer = try KafkaProducer(options(broker.bootstrapServers), log: silent)
    try producer.prepare(topics: ["spread", "t"], spread: ["spread"], timeout: .seconds(5))
    var firsts: Set<Int32> = []
    for event in 0..<8 {
      var counts: [Int32: Int] = [:]
      for number in 0..<16 {
        let key = Array("live-\(event)/3.\(number)".utf8)
        let partition = try await producer.send(topic: "spread", key: key, value: [1]).partition
        counts[partition, default: 0] += 1
        if number == 0 { firsts.insert(partition) }
      }
      #expect(counts == Dictionary(uniqueKeysWithValues: (0..<8).map { ($0, 2) }))
    }
    #expect(firsts.count > 1)
    for (key, hash): (String, Int32) in [("foobar", -790_332_482), ("abc", 479_470_107)] {
      let delivery = try await producer.send(topic: "spread", key: Array(key.utf8), value: [1])
      #expect(delivery.partition == (hash & .max) % 8, "\(key)")
    }
    for key in ["a.1234567890", "a.", "a.1b", ".", "12"] {
      let bytes = Array(key.utf8)
      let here = try await producer.send(topic: "spread", key: bytes, value: [1]).partition
      let elsewhere = try await producer.send(topic: "t", key: bytes, value: [1]).partition
      #expect(here == elsewhere, "\(key)")
    }
    producer.close(timeout: .seconds(1))
  }

  @Test func sendsMoreThanItsQueueHolds() async throws {
    let broker = try EmbeddedBroker(topics: [("t", 1)])
    var options = options(broker.bootstrapServers)
    options.maximumInFlight = 3
    let producer = try KafkaProducer(options, log: silent)
    let offsets = try await withThrowingTaskGroup(of: Int64.self) { group in
      for number in 0..<200 {
        group.addTask {
          try await producer.send(topic: "t", key: nil, value: Array("\(number)".utf8)).offset
        }
      }
      return try await group.reduce(into: Set<Int64>()) { $0.insert($1) }
    }
    #expect(offsets == Set(0..<200))
    producer.close(timeout: .seconds(1))
  }

  @Test func retriesWithoutWritingTwice() async throws {
    let broker = try EmbeddedBroker(topics: [("t", 1)])
    let producer = try KafkaProducer(options(broker.bootstrapServers), log: silent)
    try await producer.sendNumbers(0..<1, to: "t")
    broker.fail(next: .produce, with: [.notLeader, .disconnect])
    let delivery = try await producer.send(topic: "t", key: nil, value: [1])
    #expect(delivery.offset == 1)
    producer.close(timeout: .seconds(1))
  }

  @Test func failsForARefusedRecord() async throws {
    let broker = try EmbeddedBroker(topics: [("t", 1)])
    var options = options(broker.bootstrapServers)
    options.maximumMessageBytes = 100_000
    let producer = try KafkaProducer(options, log: silent)
    let tooLarge = await error {
      try await producer.send(
        topic: "t", key: nil, value: [UInt8](repeating: 1, count: 200_000))
    }
    #expect(tooLarge?.code == .tooLarge)
    broker.fail(next: .produce, with: [.topicAuthorizationFailed])
    let refused = await error { try await producer.send(topic: "t", key: nil, value: [1]) }
    #expect(refused?.code == .authorization)
    producer.close(timeout: .seconds(1))
  }

  @Test func failsWhenKafkaIsAwayForTooLong() async throws {
    let lines = Lines()
    var options = options("127.0.0.1:\(try unusedPort())")
    options.messageTimeout = .milliseconds(500)
    let producer = try KafkaProducer(options, log: lines.log)
    let failure = await error { try await producer.send(topic: "t", key: nil, value: [1]) }
    #expect(failure?.code == .timedOut)
    #expect(throws: KafkaError.self) {
      try producer.prepare(topics: ["t"], timeout: .milliseconds(100))
    }
    producer.close(timeout: .seconds(1))
    #expect(lines.all.contains { $0.level == .error && $0.message.contains("refused") })
    let late = await error { try await producer.send(topic: "t", key: nil, value: [1]) }
    #expect(late?.code == .closed)
  }

  @Test func closeAnswersWhoWaits() async throws {
    var options = options("127.0.0.1:\(try unusedPort())")
    options.maximumInFlight = 2
    let producer = try KafkaProducer(options, log: silent)
    let codes = await withTaskGroup(of: KafkaError.Code?.self) { group in
      for _ in 0..<5 {
        group.addTask {
          await error { try await producer.send(topic: "t", key: nil, value: [1]) }?.code
        }
      }
      group.addTask {
        producer.close(timeout: .milliseconds(100))
        return .closed
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(codes == Array(repeating: .closed, count: 6))
  }

  @Test func carriesLargeRecords() async throws {
    let broker = try EmbeddedBroker(topics: [("t", 1)])
    let options = options(broker.bootstrapServers)
    let producer = try KafkaProducer(options, log: silent)
    // The embedded broker holds no more than 5 MiB.
    let value = [UInt8](repeating: 7, count: 3_000_000)
    let headers = (0..<1000).map { KafkaHeader("h\($0)", "v") }
    _ = try await producer.send(
      topic: "t", key: [UInt8](repeating: 1, count: 1_000_000), value: value, headers: headers)
    try await producer.sendNumbers(1..<2, to: "t")
    let consumer = try KafkaConsumer(options, topics: ["t"], log: silent)
    try consumer.subscribe()
    let read = consumer.collectMessages(1)
    #expect(read.first?.value == value)
    #expect(read.first?.headers.count == 1000)
    consumer.close(timeout: .seconds(5))
    producer.close(timeout: .seconds(1))
  }
}

/// The error of a call that should throw one.
func error(_ body: () async throws -> Any) async -> KafkaError? {
  do {
    _ = try await body()
    return nil
  } catch {
    return error as? KafkaError
  }
}
