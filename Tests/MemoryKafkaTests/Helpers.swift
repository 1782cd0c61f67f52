import Fixtures
import Kafka
import Testing

extension KafkaUnderTest {
  /// Polls until `isDone` says so of everything polled so far; fails the test after `seconds` of
  /// this Kafka's time. Others of the actor go on meanwhile: groups take seconds to form.
  @discardableResult
  func collect(
    _ consumer: any GroupConsumer, seconds: Int = 90,
    sourceLocation: SourceLocation = #_sourceLocation, until isDone: ([KafkaPoll]) -> Bool
  ) async -> [KafkaPoll] {
    let deadline = elapsed + .seconds(seconds)
    var polled: [KafkaPoll] = []
    while !isDone(polled) {
      if elapsed > deadline {
        Issue.record("not within \(seconds) s; polled \(polled)", sourceLocation: sourceLocation)
        return polled
      }
      if let next = consumer.poll(timeout: .milliseconds(10)) {
        polled.append(next)
      } else {
        pass()
        await Task.yield()
      }
    }
    return polled
  }

  func collectMessages(
    _ consumer: any GroupConsumer, _ count: Int,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async -> [KafkaMessage] {
    await collect(consumer, sourceLocation: sourceLocation) { $0.messages.count >= count }.messages
  }

  /// Asks until Kafka says so; fails the test otherwise.
  func collectLag(
    _ consumer: any GroupConsumer, _ expected: [KafkaPartition: Int64],
    sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    await collect(consumer, sourceLocation: sourceLocation) { _ in
      consumer.measureLag()
      return consumer.lag == expected
    }
  }

  /// A member that has been let in.
  func member(
    of topic: String, _ options: KafkaOptions? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> any GroupConsumer {
    let consumer = try consumer(options ?? self.options, [topic])
    try consumer.subscribe()
    await collect(consumer, sourceLocation: sourceLocation) { !$0.assigned.isEmpty }
    return consumer
  }

  func joined(_ topic: String, _ options: KafkaOptions? = nil) throws -> any GroupConsumer {
    let consumer = try consumer(options ?? self.options, [topic])
    try consumer.subscribe()
    return consumer
  }

  @discardableResult
  func send(
    _ producer: any RecordProducer, to topic: String, partition: Int32? = nil, key: [UInt8]?,
    _ value: [UInt8]?, headers: [KafkaHeader] = []
  ) async throws -> KafkaDelivery {
    try await settle {
      try await producer.send(
        topic: topic, partition: partition, key: key, value: value, headers: headers)
    }
  }

  /// Writes numbered records, one after the other.
  func sendNumbers(
    _ numbers: Range<Int>, to topic: String, partition: Int32? = nil
  ) async throws {
    let producer = try producer(options)
    for number in numbers {
      try await send(
        producer, to: topic, partition: partition, key: Array("k\(number)".utf8),
        Array("\(number)".utf8))
    }
    producer.close(timeout: .seconds(1))
  }
}

/// The error of a call that should throw one.
@KafkaContract func error(_ body: @KafkaContract () async throws -> Void) async -> KafkaError? {
  do {
    try await body()
    return nil
  } catch {
    return error as? KafkaError
  }
}

/// What consumers have, as their polls said.
struct Holdings {
  private(set) var partitions: Set<KafkaPartition> = []

  mutating func note(_ polled: KafkaPoll) {
    switch polled {
    case .assigned(let more): partitions.formUnion(more)
    case .revoked(let gone), .lost(let gone): partitions.subtract(gone)
    default: return
    }
  }
}

extension KafkaUnderTest {
  /// Polls all of them until what they have is as wanted.
  func share(
    _ consumers: [any GroupConsumer], _ holdings: inout [Holdings],
    sourceLocation: SourceLocation = #_sourceLocation,
    until isDone: ([Set<KafkaPartition>]) -> Bool
  ) async -> [[KafkaPoll]] {
    var polled = consumers.map { _ in [KafkaPoll]() }
    let deadline = elapsed + .seconds(90)
    while !isDone(holdings.map(\.partitions)) {
      if elapsed > deadline {
        Issue.record("never shared; polled \(polled)", sourceLocation: sourceLocation)
        return polled
      }
      for (index, consumer) in consumers.enumerated() {
        guard let next = consumer.poll(timeout: .milliseconds(5)) else { continue }
        holdings[index].note(next)
        polled[index].append(next)
      }
      pass()
      await Task.yield()
    }
    return polled
  }
}
