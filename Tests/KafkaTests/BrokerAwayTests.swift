import Glibc
import Kafka
import Testing

/// A consumer whose broker, or its group's coordinator, is away.
@Suite struct BrokerAwayTests {
  @Test func commitsAfterTheCoordinatorWasAway() async throws {
    let broker = try EmbeddedBroker(topics: [("t", 1)])
    let consumer = try KafkaConsumer(
      options(broker.bootstrapServers), topics: ["t"], log: silent)
    try consumer.subscribe()
    consumer.collect { !$0.assigned.isEmpty }
    broker.fail(next: .offsetCommit, with: [.coordinatorNotAvailable])
    try consumer.commitNow(
      [KafkaPartition(topic: "t", partition: 0): 7], timeout: .seconds(10))
    consumer.close(timeout: .seconds(5))
  }

  @Test func closesInTimeWhenKafkaIsAway() throws {
    let lines = Lines()
    let consumer = try KafkaConsumer(
      options("127.0.0.1:\(try unusedPort())"), topics: ["t"], log: lines.log)
    try consumer.subscribe()
    let polled = consumer.collect { !$0.errors.isEmpty }
    #expect(polled.errors.first?.code == .unreachable)
    let before = ContinuousClock.now
    consumer.commit([KafkaPartition(topic: "t", partition: 0): 1])
    #expect(throws: KafkaError.self) {
      try consumer.commitNow(
        [KafkaPartition(topic: "t", partition: 0): 1], timeout: .milliseconds(200))
    }
    consumer.close(timeout: .seconds(1))
    #expect(ContinuousClock.now - before < .seconds(30))
    var left = 0
    while consumer.poll(timeout: .milliseconds(20)) != nil, left < 1000 { left += 1 }
    #expect(left < 1000, "what happened before it was closed can be polled, and comes to an end")
    #expect(lines.all.contains { $0.message.contains("Connection refused") })
  }

  @Test func goesOnWhenTheBrokerComesBack() async throws {
    let broker = try EmbeddedBroker(topics: [("t", 1)])
    let options = options(broker.bootstrapServers)
    let consumer = try KafkaConsumer(options, topics: ["t"], log: silent)
    try consumer.subscribe()
    consumer.collect { !$0.assigned.isEmpty }
    let producer = try KafkaProducer(options, log: silent)
    try await producer.sendNumbers(0..<1, to: "t")
    #expect(consumer.collectMessages(1).count == 1)
    broker.setDown(true)
    consumer.collect { !$0.errors.isEmpty }
    broker.setDown(false)
    try await producer.sendNumbers(1..<2, to: "t")
    let read = consumer.collect { $0.messages.contains { $0.text == "1" } }
    #expect(read.errors.allSatisfy { !$0.isFatal })
    consumer.close(timeout: .seconds(5))
    producer.close(timeout: .seconds(1))
  }

  /// One with nothing to send, as that of an API at night.
  @Test func aProducerKnowsWhetherABrokerAnswers() async throws {
    let broker = try EmbeddedBroker(topics: [("t", 1)])
    var options = options(broker.bootstrapServers)
    let blind = try KafkaProducer(options, log: silent)
    options.producersWatchBrokers = true
    options.reachabilityInterval = .milliseconds(50)
    let producer = try KafkaProducer(options, log: silent)
    try producer.prepare(topics: ["t"], timeout: .zero)
    func comes(_ isReachable: Bool) -> Bool {
      let deadline = ContinuousClock.now + .seconds(60)
      while producer.isReachable != isReachable, ContinuousClock.now < deadline {
        _ = poll(nil, 0, 5)
      }
      return producer.isReachable == isReachable
    }
    #expect(comes(true))
    broker.setDown(true)
    #expect(comes(false))
    broker.setDown(false)
    #expect(comes(true))
    #expect(blind.isReachable == nil)
    for one in [producer, blind] { one.close(timeout: .seconds(1)) }
  }

  @Test func aCommitWithoutABrokerPromisesNothing() throws {
    let broker = try EmbeddedBroker(topics: [("t", 1)])
    let consumer = try KafkaConsumer(options(broker.bootstrapServers), topics: ["t"], log: silent)
    try consumer.subscribe()
    consumer.collect { !$0.assigned.isEmpty }
    broker.setDown(true)
    consumer.collect { !$0.errors.isEmpty }
    // Whoever asks knows whether it is tried again; the error does not.
    do {
      try consumer.commitNow(
        [KafkaPartition(topic: "t", partition: 0): 1], timeout: .milliseconds(50))
      Issue.record("a commit succeeded without a broker")
    } catch {
      #expect(error.code == .timedOut || error.code == .unreachable)
      #expect(!error.description.contains("tried again"))
    }
    consumer.close(timeout: .seconds(1))
  }
}
