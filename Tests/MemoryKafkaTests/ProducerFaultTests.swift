import Kafka
import MemoryKafka
import Testing

/// What a world does to the producers of a Kafka in memory.
@Suite @KafkaContract struct ProducerFaultTests {
  private let kafka = MemoryUnderTest()
  private let topic: String
  private let partition: KafkaPartition
  private var broker: MemoryBroker { kafka.broker }

  init() {
    topic = kafka.makeTopic(partitions: 1)
    partition = KafkaPartition(topic: topic, partition: 0)
  }

  private func values() -> [UInt8] {
    broker.records(of: partition).compactMap { $0.record.value?.first }
  }

  @Test(arguments: [false, true]) func aWriteMayBeUnknown(isDone: Bool) async throws {
    let producer = kafka.host.producer(kafka.options)
    broker.fail(next: .produce, with: [.unanswered(isDone: isDone)])
    let unknown = await error { try await kafka.send(producer, to: topic, key: nil, [1]) }
    #expect(unknown?.code == .timedOut)
    try await kafka.send(producer, to: topic, key: nil, [2])
    #expect(values() == (isDone ? [1, 2] : [2]))
  }

  @Test func faultsCanBeLimitedToATopicAndAHost() async throws {
    let other = kafka.makeTopic(partitions: 1)
    let producer = kafka.host.producer(kafka.options)
    let elsewhere = broker.host("elsewhere").producer(kafka.options)
    broker.fail(next: .produce, with: [.topicAuthorizationFailed], host: "test", topic: topic)
    try await kafka.send(producer, to: other, key: nil, [1])
    try await kafka.send(elsewhere, to: topic, key: nil, [1])
    let refused = await error { try await kafka.send(producer, to: topic, key: nil, [2]) }
    #expect(refused?.code == .authorization)
    broker.fail(next: .produce, with: [.topicAuthorizationFailed])
    broker.endFaults()
    try await kafka.send(producer, to: topic, key: nil, [3])
    #expect(values() == [1, 3])
  }

  /// Whatever breaks on the way, an acknowledged record is there once, and none twice.
  @Test(arguments: 1...20) func connectionsThatBreakLoseAndDoubleNothing(seed: UInt64) async throws
  {
    let kafka = MemoryUnderTest(seed: seed)
    let topic = kafka.makeTopic(partitions: 1)
    let partition = KafkaPartition(topic: topic, partition: 0)
    let producer = kafka.host.producer(kafka.options)
    for number in 0..<40 {
      kafka.time.schedule(.microseconds(1500 * number)) { kafka.host.breakConnections() }
    }
    kafka.time.schedule(.milliseconds(61)) { kafka.broker.setAway(true) }
    kafka.time.schedule(.milliseconds(70)) { kafka.broker.setAway(false) }
    if seed % 2 == 0 { kafka.broker.fail(next: .produce, with: [.notLeader, .disconnect]) }
    let offsets = try await kafka.settle {
      let sends = (0..<100).map { number in
        Task { @KafkaContract in
          try await producer.send(topic: topic, key: nil, value: [UInt8(number)]).offset
        }
      }
      var offsets: [Int64] = []
      for send in sends { offsets.append(try await send.value) }
      return offsets
    }
    #expect(offsets == Array(0..<100))
    let values = kafka.broker.records(of: partition).compactMap { $0.record.value?.first }
    #expect(values == Array(0..<100))
  }

  @Test func anUnknownTopicIsWaitedForHalfAMinute() async throws {
    let producer = kafka.host.producer(kafka.options)
    let before = kafka.elapsed
    let missing = await error { try await kafka.send(producer, to: "none", key: nil, [1]) }
    #expect(missing?.code == .unknownTopic && kafka.elapsed - before >= .seconds(29))
    kafka.time.schedule(.seconds(5)) { [broker] in broker.create(topic: "late", partitions: 1) }
    #expect(try await kafka.send(producer, to: "late", key: nil, [1]).offset == 0)
  }

  @Test func recordsAboveTheBrokersMaximumAreRefused() async throws {
    let producer = kafka.host.producer(kafka.options)
    let refused = await error {
      try await kafka.send(producer, to: topic, key: nil, [UInt8](repeating: 1, count: 2_000_000))
    }
    #expect(refused?.code == .tooLarge)
  }

  @Test func aFatalErrorEndsAllThatIsSent() async throws {
    let producer = kafka.host.producer(kafka.options)
    kafka.time.schedule(.zero) { producer.failForGood() }
    let failed = await error { try await kafka.send(producer, to: topic, key: nil, [1]) }
    #expect(failed?.isFatal == true && producer.fatalError?.isFatal == true)
    let later = await error { try await kafka.send(producer, to: topic, key: nil, [1]) }
    #expect(later?.isFatal == true)
  }

  /// What a host has sent arrives though it is dead; nobody is answered before the world says so.
  @Test func aCrashAnswersNobody() async throws {
    let host = broker.host("dies")
    let producer = host.producer(kafka.options)
    let sending = Task { @KafkaContract in
      await error { _ = try await producer.send(topic: topic, key: nil, value: [1]) }
    }
    let deadline = kafka.elapsed + .seconds(5)
    while values().isEmpty, kafka.elapsed < deadline {
      await Task.yield()
      kafka.time.advance(by: .microseconds(10))
    }
    host.crash()
    kafka.time.advance(by: .seconds(60))
    #expect(values() == [1])
    host.endAbandoned()
    #expect(await sending.value?.code == .closed)
  }

  @Test func recordsHaveTheTimeOfWhoeverSendsThem() async throws {
    let host = broker.host("ahead")
    host.wallClock = { 1_800_000_000_000 }
    try await kafka.send(host.producer(kafka.options), to: topic, key: nil, [1])
    #expect(broker.records(of: partition).map(\.record.timestamp) == [1_800_000_000_000])
  }

  /// The same numbers, the same partitions.
  @Test func recordsWithoutAKeyFollowTheNumbers() async throws {
    var places: [[Int32]] = []
    for _ in 0..<2 {
      let kafka = MemoryUnderTest(seed: 3)
      let topic = kafka.makeTopic(partitions: 8)
      let producer = kafka.host.producer(kafka.options)
      var one: [Int32] = []
      for _ in 0..<20 {
        one.append(try await kafka.send(producer, to: topic, key: nil, [1]).partition)
      }
      places.append(one)
    }
    #expect(places[0] == places[1] && Set(places[0]).count > 3)
  }
}
