import Kafka
import ServerProcesses
import Testing

@Suite(.enabled(if: RealKafka.home != nil, "FANFARE_KAFKA_HOME names no Apache Kafka"))
struct RealKafkaTests {
  @Test func goesRoundOnce() async throws {
    let kafka = try RealKafka()
    var options = options(kafka.bootstrapServers)
    options.fetchWaitMaximum = .seconds(5)
    options.sessionTimeout = .seconds(6)
    let admin = KafkaAdmin(options, log: silent)
    try kafka.createTopics([("t", 3)], as: options)
    try kafka.createTopics([("t", 3), ("u", 1)], as: options)
    // A broker may answer before it knows itself what it has created, and one that has just begun
    // beside many tests may leave a question without an answer.
    var partitions: [String: Int] = [:]
    var refusal: KafkaError?
    let deadline = ContinuousClock.now + .seconds(60)
    while partitions.count < 2, ContinuousClock.now < deadline {
      do throws(KafkaError) {
        partitions = try admin.metadata(topics: ["t", "u", "none"], timeout: .seconds(10))
          .partitions
      } catch {
        refusal = error
      }
    }
    #expect(partitions == ["t": 3, "u": 1], "\(String(describing: refusal))")

    let producer = try KafkaProducer(options, log: silent)
    try producer.prepare(topics: ["t"], timeout: .seconds(10))
    try await producer.sendNumbers(0..<30, to: "t")
    let consumer = try KafkaConsumer(options, topics: ["t"], log: silent)
    consumer.offsetsToCommitOnRevoke = { partitions in
      Dictionary(uniqueKeysWithValues: partitions.map { ($0, 1) })
    }
    try consumer.subscribe()
    let read = consumer.collectMessages(30)
    #expect(Set(read.map(\.text)) == Set((0..<30).map { "\($0)" }))
    #expect(consumer.close(timeout: .seconds(10)))

    // The successor begins at what was committed when the partitions were given back.
    let successor = try KafkaConsumer(options, topics: ["t"], log: silent)
    try successor.subscribe()
    let again = successor.collectMessages(27)
    #expect(again.allSatisfy { $0.offset >= 1 })
    let offsets = Dictionary(
      again.map { ($0.source, $0.offset + 1) }, uniquingKeysWith: { max($0, $1) })
    try successor.commitNow(offsets, timeout: .seconds(10))

    // A broker holds a fetch back for five seconds when it has nothing, but answers at once when
    // something comes.
    var waits: [Duration] = []
    for number in 0..<5 {
      _ = successor.poll(timeout: .milliseconds(20 + number))
      let before = ContinuousClock.now
      try await producer.sendNumbers(number..<number + 1, to: "t", partition: 0)
      _ = successor.collectMessages(1)
      waits.append(ContinuousClock.now - before)
    }
    let median = waits.sorted()[2]
    #expect(median < .milliseconds(2500), "produce to poll takes \(median)")

    let refused = await error {
      try await producer.send(
        topic: "t", key: nil, value: [UInt8](repeating: 1, count: 3_000_000))
    }
    #expect(refused?.code == .tooLarge)
    #expect(successor.close(timeout: .seconds(10)))
    producer.close(timeout: .seconds(5))
  }

  /// The other member notices nothing, and the partitions are where they were.
  @Test func aStaticMemberComesBackToItsPartitions() throws {
    let kafka = try RealKafka()
    var options = options(kafka.bootstrapServers)
    options.sessionTimeout = .seconds(30)
    try kafka.createTopics([("static", 4)], as: options)
    func join(_ name: String) throws -> KafkaConsumer {
      options.staticMember = name
      let consumer = try KafkaConsumer(options, topics: ["static"], log: silent)
      try consumer.subscribe()
      return consumer
    }
    let stays = try join("stays")
    let goes = try join("goes")
    stays.collect { _ in
      _ = goes.poll()
      return stays.assignment.count == 2 && goes.assignment.count == 2
    }
    let before = goes.assignment
    // What has happened is known sooner than `poll` says so.
    while stays.poll() != nil {}
    #expect(goes.close(timeout: .seconds(10)))
    let back = try join("goes")
    var polled: [KafkaPoll] = []
    back.collect { _ in
      while let next = stays.poll() { polled.append(next) }
      return back.assignment.count == 2
    }
    #expect(back.assignment == before)
    #expect(polled.assigned.isEmpty && polled.revoked.isEmpty)
    #expect(stays.close(timeout: .seconds(10)))
    #expect(back.close(timeout: .seconds(10)))
  }
}
