import Kafka
import Testing

/// Writing: the same for each Kafka.
@Suite @KafkaContract struct ContractProducerTests {
  @Test(arguments: ContractKafka.that())
  func reportsWhereEachRecordWent(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 2)
    let producer = try kafka.producer(kafka.options)
    try producer.prepare(topics: [topic], spread: [], timeout: .seconds(10))
    for offset in 0..<3 {
      let delivery = try await kafka.send(
        producer, to: topic, partition: 1, key: nil, [UInt8(offset)])
      #expect(delivery == KafkaDelivery(partition: 1, offset: Int64(offset)))
    }
    let missing = await error {
      try await kafka.send(producer, to: topic, partition: 9, key: nil, [1])
    }
    #expect(missing?.code == .unknownTopic)
    #expect(producer.fatalError == nil)
    producer.close(timeout: .seconds(1))
  }

  /// The hashes are those of Kafka's own tests of murmur2 (UtilsTest).
  @Test(arguments: ContractKafka.that())
  func placesKeysAsKafkasOwnClientsDo(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 16)
    let producer = try kafka.producer(kafka.options)
    let hashes: [(key: String, hash: Int32)] = [
      ("21", -973_932_308), ("foobar", -790_332_482), ("a-little-bit-long-string", -985_981_536),
      ("a-little-bit-longer-string", -1_486_304_829),
      ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971), ("abc", 479_470_107),
      ("", 275_646_681),
    ]
    for (key, hash) in hashes {
      let delivery = try await kafka.send(producer, to: topic, key: Array(key.utf8), [1])
      #expect(delivery.partition == (hash & .max) % 16, "\(key)")
    }
    producer.close(timeout: .seconds(1))
  }

  @Test(arguments: ContractKafka.that())
  func keysWithANumberAtTheirEndGoByTurns(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let spread = try kafka.makeTopic(partitions: 8)
    let plain = try kafka.makeTopic(partitions: 8)
    let producer = try kafka.producer(kafka.options)
    try producer.prepare(topics: [spread, plain], spread: [spread], timeout: .seconds(10))
    // The prefix has the hash of UtilsTest.
    for number in 0..<16 {
      let key = Array("foobar.\(number)".utf8)
      let partition = try await kafka.send(producer, to: spread, key: key, [1]).partition
      #expect(partition == ((Int32(-790_332_482) & .max) % 8 + Int32(number)) % 8)
    }
    for key in ["a.1234567890", "a.", "a.1b", ".", "12", "foobar"] {
      let bytes = Array(key.utf8)
      let here = try await kafka.send(producer, to: spread, key: bytes, [1]).partition
      let elsewhere = try await kafka.send(producer, to: plain, key: bytes, [1]).partition
      #expect(here == elsewhere, "\(key)")
    }
    producer.close(timeout: .seconds(1))
  }

  @Test(arguments: ContractKafka.that())
  func keepsTheOrderOfWhatIsSentTogether(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 1)
    let producer = try kafka.producer(kafka.options)
    let offsets = try await Self.sendTogether(50, producer, to: topic, kafka)
    #expect(offsets == Array(0..<50))
    producer.close(timeout: .seconds(1))
  }

  @Test(arguments: ContractKafka.that())
  func sendersWaitForEachOtherBeyondTheMaximum(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 1)
    var options = kafka.options
    options.maximumInFlight = 3
    let producer = try kafka.producer(options)
    let offsets = try await Self.sendTogether(50, producer, to: topic, kafka)
    #expect(Set(offsets) == Set(0..<50))
    producer.close(timeout: .seconds(1))
  }

  /// Returns the offsets in the order in which the records were sent.
  private static func sendTogether(
    _ count: Int, _ producer: any RecordProducer, to topic: String, _ kafka: any KafkaUnderTest
  ) async throws -> [Int64] {
    try await kafka.settle {
      let sends = (0..<count).map { number in
        Task { @KafkaContract in
          try await producer.send(topic: topic, key: nil, value: Array("\(number)".utf8)).offset
        }
      }
      var offsets: [Int64] = []
      for send in sends { offsets.append(try await send.value) }
      return offsets
    }
  }

  @Test(arguments: ContractKafka.that())
  func refusesWhatIsTooLarge(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 1)
    var options = kafka.options
    options.maximumMessageBytes = 100_000
    let producer = try kafka.producer(options)
    let refused = await error {
      try await kafka.send(producer, to: topic, key: nil, [UInt8](repeating: 1, count: 200_000))
    }
    #expect(refused?.code == .tooLarge)
    #expect(try await kafka.send(producer, to: topic, key: nil, [1]).offset == 0)
    producer.close(timeout: .seconds(1))
    let late = await error { try await kafka.send(producer, to: topic, key: nil, [1]) }
    #expect(late?.code == .closed)
    #expect(
      await error { try producer.prepare(topics: [topic], spread: [], timeout: .zero) } != nil)
  }

  @Test(arguments: ContractKafka.that(can: .failures))
  func triesAgainWithoutWritingTwice(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 1)
    let producer = try kafka.producer(kafka.options)
    try await kafka.send(producer, to: topic, key: nil, [0])
    try kafka.failProduce(.notLeader)
    try kafka.failProduce(.disconnect)
    #expect(try await kafka.send(producer, to: topic, key: nil, [1]).offset == 1)
    try kafka.failProduce(.topicAuthorizationFailed)
    let refused = await error { try await kafka.send(producer, to: topic, key: nil, [1]) }
    #expect(refused?.code == .authorization)
    producer.close(timeout: .seconds(1))
  }

  @Test(arguments: ContractKafka.that(can: .away))
  func failsWhenKafkaIsAwayForTooLong(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 1)
    try kafka.setAway(true)
    var options = kafka.options
    options.messageTimeout = .milliseconds(500)
    let producer = try kafka.producer(options)
    let late = await error { try await kafka.send(producer, to: topic, key: nil, [1]) }
    #expect(late?.code == .timedOut)
    let unknown = await error {
      try producer.prepare(topics: [topic], spread: [], timeout: .milliseconds(100))
    }
    #expect(unknown?.code == .unreachable || unknown?.code == .timedOut)
    producer.close(timeout: .seconds(1))
  }

  @Test(arguments: ContractKafka.that(can: .away))
  func writesOnceKafkaIsBack(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 1)
    let producer = try kafka.producer(kafka.options)
    try await kafka.send(producer, to: topic, key: nil, [0])
    try kafka.setAway(true)
    let sending = Task { @KafkaContract in
      try await producer.send(topic: topic, key: nil, value: [1]).offset
    }
    try kafka.setAway(false)
    #expect(try await kafka.settle { try await sending.value } == 1)
    producer.close(timeout: .seconds(1))
  }

  @Test(arguments: ContractKafka.that(can: .away))
  func closeAnswersWhoWaits(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 1)
    try kafka.setAway(true)
    var options = kafka.options
    options.maximumInFlight = 2
    let producer = try kafka.producer(options)
    let codes = try await kafka.settle {
      let sends = (0..<5).map { _ in
        Task { @KafkaContract in
          await error { _ = try await producer.send(topic: topic, key: nil, value: [1]) }?.code
        }
      }
      await Task.yield()
      producer.close(timeout: .milliseconds(100))
      var codes: [KafkaError.Code?] = []
      for send in sends { codes.append(await send.value) }
      return codes
    }
    #expect(codes == Array(repeating: .closed, count: 5))
  }
}
