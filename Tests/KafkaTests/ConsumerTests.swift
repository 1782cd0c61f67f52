import Glibc
import Kafka
import Testing
import Text

/// On the embedded broker, whose groups take three seconds to form.
@Suite struct ConsumerTests {
  @Test func readsWhatWasWrittenAndCommits() async throws {
    let broker = try EmbeddedBroker(topics: [("t", 1)])
    let options = options(broker.bootstrapServers)
    let producer = try KafkaProducer(options, log: silent)
    let headers = [KafkaHeader("a", "1"), KafkaHeader(name: "b", value: nil)]
    let delivery = try await producer.send(
      topic: "t", key: Array("s42".utf8), value: Array("hello".utf8), headers: headers)
    #expect(delivery.partition == 0)
    #expect(delivery.offset == 0)
    _ = try await producer.send(topic: "t", key: nil, value: nil)
    _ = try await producer.send(topic: "t", key: [], value: [])

    let consumer = try KafkaConsumer(options, topics: ["t"], log: silent)
    try consumer.subscribe()
    let polled = consumer.collect { $0.messages.count >= 3 }
    let partition = KafkaPartition(topic: "t", partition: 0)
    #expect(polled.first == .assigned([partition]))
    #expect(consumer.assignment == [partition])
    let messages = polled.messages
    try #require(messages.count == 3)
    #expect(messages[0].key == Array("s42".utf8))
    #expect(messages[0].text == "hello")
    #expect(messages[0].headers == headers)
    #expect(messages[0].timestamp > 1_600_000_000_000)
    #expect(messages[0].source == partition)
    #expect(messages[1].key == nil && messages[1].value == nil, "a tombstone stays one")
    #expect(messages[2].key == [] && messages[2].value == [], "empty is not null")

    consumer.commit([partition: 2])
    let results = consumer.collect { !$0.committed.isEmpty || !$0.commitFailures.isEmpty }
    #expect(results.committed == [partition: 2])
    #expect(consumer.close(timeout: .seconds(5)))
    producer.close(timeout: .seconds(1))

    let successor = try KafkaConsumer(options, topics: ["t"], log: silent)
    try successor.subscribe()
    #expect(successor.collectMessages(1).map(\.offset) == [2], "the uncommitted one comes again")
    #expect(successor.close(timeout: .seconds(5)))
  }

  @Test func redeliversWhatWasNotCommitted() async throws {
    let broker = try EmbeddedBroker(topics: [("t", 1)])
    let options = options(broker.bootstrapServers)
    let producer = try KafkaProducer(options, log: silent)
    try await producer.sendNumbers(0..<5, to: "t")
    for expected in [0, 3] {
      let consumer = try KafkaConsumer(options, topics: ["t"], log: silent)
      consumer.offsetsToCommitOnRevoke = { partitions in
        Dictionary(uniqueKeysWithValues: partitions.map { ($0, 3) })
      }
      try consumer.subscribe()
      let read = consumer.collectMessages(5 - expected)
      #expect(read.map(\.offset) == Array(Int64(expected)..<5))
      // Committed inside `close`, when the partition is given back.
      #expect(consumer.close(timeout: .seconds(5)))
      let rest = consumer.collect { $0.count >= 2 }
      let partition = KafkaPartition(topic: "t", partition: 0)
      #expect(rest == [.committed([partition: 3]), .revoked([partition])])
    }
    producer.close(timeout: .seconds(1))
  }

  @Test func pauseAndResumeLoseNothing() async throws {
    let broker = try EmbeddedBroker(topics: [("t", 3)])
    var options = options(broker.bootstrapServers)
    // On a machine that stands still for a while no group may hand the partitions out again.
    options.sessionTimeout = .seconds(60)
    let producer = try KafkaProducer(options, log: silent)
    for partition in 0..<3 {
      try await producer.sendNumbers(0..<12, to: "t", partition: Int32(partition))
    }
    let consumer = try KafkaConsumer(options, topics: ["t"], log: silent)
    try consumer.subscribe()
    var next: [KafkaPartition: Int64] = [:]
    var paused: Set<KafkaPartition> = []
    var random = SplitMix64(seed: 7)
    let deadline = ContinuousClock.now + .seconds(60)
    while next.values.reduce(0, +) < 36, ContinuousClock.now < deadline {
      let polled = consumer.poll(timeout: .milliseconds(20))
      guard case .message(let message) = polled else {
        // The embedded broker may hand them out once more: nothing is committed.
        if case .assigned = polled { next = [:] }
        consumer.resume(consumer.assignment.sorted())
        paused = []
        continue
      }
      #expect(!paused.contains(message.source), "a paused partition is silent")
      #expect(message.offset == next[message.source] ?? 0)
      next[message.source] = message.offset + 1
      // Also those that are paused already, and those that are not paused.
      let some = consumer.assignment.filter { _ in Bool.random(using: &random) }.sorted()
      consumer.pause(some)
      paused.formUnion(some)
      if Bool.random(using: &random) {
        consumer.resume(consumer.assignment.sorted())
        paused = []
      }
      #expect(consumer.paused == paused)
    }
    #expect(next.values.sorted() == [12, 12, 12])
    #expect(consumer.close(timeout: .seconds(5)))
    producer.close(timeout: .seconds(1))
  }

  @Test func twoConsumersShareThePartitions() async throws {
    let broker = try EmbeddedBroker(topics: [("t", 4)])
    let options = options(broker.bootstrapServers)
    let first = try KafkaConsumer(options, topics: ["t"], log: silent)
    try first.subscribe()
    first.collect { $0.assigned.count == 4 }
    // A pause must not outlive the assignment it was made in.
    first.pause(first.assignment.sorted())

    let second = try KafkaConsumer(options, topics: ["t"], log: silent)
    try second.subscribe()
    // What each has now counts: on the way there a group may hand partitions out more than once.
    let ofFirst = first.collect { _ in
      _ = second.poll()
      return first.assignment.count == 2 && second.assignment.count == 2
    }
    #expect(Set(ofFirst.revoked).count == 4)
    #expect(first.paused.isEmpty)
    let all = first.assignment.union(second.assignment)
    #expect(all.count == 4)
    #expect(first.assignment.isDisjoint(with: second.assignment))

    let producer = try KafkaProducer(options, log: silent)
    for partition in 0..<4 {
      try await producer.sendNumbers(0..<5, to: "t", partition: Int32(partition))
    }
    #expect(Set(first.collectMessages(10).map(\.source)) == first.assignment)
    #expect(Set(second.collectMessages(10).map(\.source)) == second.assignment)

    // One leaves, the other takes over.
    #expect(second.close(timeout: .seconds(5)))
    first.collect { _ in first.assignment.count == 4 }
    #expect(first.close(timeout: .seconds(5)))
    producer.close(timeout: .seconds(1))
  }

  /// A broker takes offsets of any partition from any member of the group.
  @Test func commitsNothingOfAPartitionThatAnotherMemberHas() async throws {
    let broker = try EmbeddedBroker(topics: [("t", 2)])
    let options = options(broker.bootstrapServers)
    let producer = try KafkaProducer(options, log: silent)
    for partition in 0..<2 {
      try await producer.sendNumbers(0..<9, to: "t", partition: Int32(partition))
    }
    producer.close(timeout: .seconds(1))
    let first = try KafkaConsumer(options, topics: ["t"], log: silent)
    try first.subscribe()
    first.collect { $0.assigned.count == 2 }
    let second = try KafkaConsumer(options, topics: ["t"], log: silent)
    try second.subscribe()
    first.collect { _ in
      _ = second.poll()
      return first.assignment.count == 1 && second.assignment.count == 1
    }
    let gone = try #require(second.assignment.first)
    let kept = try #require(first.assignment.first)
    try second.commitNow([gone: 7], timeout: .seconds(10))
    // What is ours is committed all the same.
    #expect(throws: KafkaError.self) {
      try first.commitNow([gone: 2, kept: 3], timeout: .seconds(10))
    }
    first.commit([gone: 2])
    let polled = first.collect { !$0.committed.isEmpty || !$0.commitFailures.isEmpty }
    #expect(polled.commitFailures.map(\.code) == [.rebalanced])
    first.offsetsToCommitOnRevoke = { _ in [gone: 2, kept: 4] }
    #expect(first.close(timeout: .seconds(5)))
    #expect(second.close(timeout: .seconds(5)))

    let successor = try KafkaConsumer(options, topics: ["t"], log: silent)
    try successor.subscribe()
    let read = successor.collectMessages(2 + 5)
    #expect(read.first { $0.source == gone }?.offset == 7)
    #expect(read.first { $0.source == kept }?.offset == 4)
    #expect(successor.close(timeout: .seconds(5)))
  }

  @Test func aClosedConsumerJoinsNoGroup() throws {
    let broker = try EmbeddedBroker(topics: [("t", 1)])
    let consumer = try KafkaConsumer(options(broker.bootstrapServers), topics: ["t"], log: silent)
    #expect(consumer.close(timeout: .seconds(5)))
    do {
      try consumer.subscribe()
      Issue.record("a closed consumer subscribed")
    } catch { #expect(error.code == .closed) }
  }

  @Test func wakesItsDescriptor() async throws {
    let broker = try EmbeddedBroker(topics: [("t", 1)])
    let options = options(broker.bootstrapServers)
    var pipe: [Int32] = [0, 0]
    try #require(Glibc.pipe(&pipe) == 0)
    for descriptor in pipe { _ = fcntl(descriptor, F_SETFL, O_NONBLOCK) }
    defer { for descriptor in pipe { Glibc.close(descriptor) } }
    let consumer = try KafkaConsumer(options, topics: ["t"], log: silent)
    consumer.wake(descriptor: pipe[1])
    try consumer.subscribe()
    // Never polled without a wake-up from here on.
    func waitForWake() -> Bool {
      var waiting = pollfd(fd: pipe[0], events: Int16(POLLIN), revents: 0)
      guard Glibc.poll(&waiting, 1, 10_000) == 1 else { return false }
      var bytes = [UInt8](repeating: 0, count: 64)
      return read(pipe[0], &bytes, bytes.count) >= 8
    }
    var polled: [KafkaPoll] = []
    while polled.assigned.isEmpty, waitForWake() {
      while let next = consumer.poll() { polled.append(next) }
    }
    #expect(polled.assigned.count == 1)
    let producer = try KafkaProducer(options, log: silent)
    for number in 0..<3 {
      try await producer.sendNumbers(number..<number + 1, to: "t")
      while polled.messages.count <= number, waitForWake() {
        while let next = consumer.poll() { polled.append(next) }
      }
      #expect(polled.messages.last?.text == "\(number)")
    }
    #expect(consumer.close(timeout: .seconds(5)))
    producer.close(timeout: .seconds(1))
  }

  @Test(arguments: [
    EmbeddedBroker.Failure.rebalanceInProgress, .illegalGeneration, .topicAuthorizationFailed,
  ])
  func reportsAFailedCommit(failure: EmbeddedBroker.Failure) async throws {
    let broker = try EmbeddedBroker(topics: [("t", 1)])
    let consumer = try KafkaConsumer(
      options(broker.bootstrapServers), topics: ["t"], log: silent)
    try consumer.subscribe()
    consumer.collect { !$0.assigned.isEmpty }
    let partition = KafkaPartition(topic: "t", partition: 0)
    broker.fail(next: .offsetCommit, with: [failure])
    consumer.commit([partition: 7])
    let polled = consumer.collect { !$0.commitFailures.isEmpty || !$0.committed.isEmpty }
    let expected: KafkaError.Code =
      failure == .topicAuthorizationFailed ? .authorization : .rebalanced
    #expect(polled.commitFailures.map(\.code) == [expected])
    #expect(polled.committed.isEmpty)

    broker.fail(next: .offsetCommit, with: [failure])
    #expect(throws: KafkaError.self) {
      try consumer.commitNow([partition: 7], timeout: .seconds(5))
    }
    consumer.close(timeout: .seconds(5))
  }
}
