import Kafka
import Testing

/// Reading, positions and what Kafka throws away: the same for each Kafka.
@Suite @KafkaContract struct ContractReadingTests {
  @Test(arguments: ContractKafka.that())
  func readsWhatWasWrittenAndCommits(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 1)
    let producer = try kafka.producer(kafka.options)
    let headers = [KafkaHeader("a", "1"), KafkaHeader(name: "b", value: nil)]
    let delivery = try await kafka.send(
      producer, to: topic, key: Array("s42".utf8), Array("hello".utf8), headers: headers)
    #expect(delivery == KafkaDelivery(partition: 0, offset: 0))
    try await kafka.send(producer, to: topic, key: nil, nil)
    try await kafka.send(producer, to: topic, key: [], [])
    producer.close(timeout: .seconds(1))

    let consumer = try kafka.joined(topic)
    let polled = await kafka.collect(consumer) { $0.messages.count >= 3 }
    let partition = KafkaPartition(topic: topic, partition: 0)
    #expect(polled.first == .assigned([partition]))
    let messages = polled.messages
    try #require(messages.count == 3)
    #expect(messages[0].key == Array("s42".utf8) && messages[0].text == "hello")
    #expect(messages[0].headers == headers)
    #expect(messages[0].timestamp > 1_600_000_000_000)
    #expect(messages[0].source == partition)
    #expect(messages[1].key == nil && messages[1].value == nil, "a tombstone stays one")
    #expect(messages[2].key == [] && messages[2].value == [], "empty is not null")
    consumer.commit([partition: 2])
    let results = await kafka.collect(consumer) {
      !$0.committed.isEmpty || !$0.commitFailures.isEmpty
    }
    #expect(results.committed == [partition: 2])
    #expect(consumer.close(timeout: .seconds(5)))
    #expect(consumer.poll(timeout: .zero) == .revoked([partition]))
    #expect(consumer.poll(timeout: .zero) == nil)

    let successor = try kafka.joined(topic)
    #expect(await kafka.collectMessages(successor, 1).map(\.offset) == [2])
    #expect(successor.close(timeout: .seconds(5)))
  }

  @Test(arguments: ContractKafka.that())
  func pausedPartitionsAreSilentAndLoseNothing(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 2)
    for partition in 0..<2 {
      try await kafka.sendNumbers(0..<12, to: topic, partition: Int32(partition))
    }
    var options = kafka.options
    options.sessionTimeout = .seconds(30)
    let consumer = try kafka.joined(topic, options)
    let paused = KafkaPartition(topic: topic, partition: 0)
    let other = KafkaPartition(topic: topic, partition: 1)
    var polled = await kafka.collect(consumer) { $0.messages.contains { $0.source == paused } }
    consumer.pause([paused])
    // Again, and one that is not ours.
    consumer.pause([paused, KafkaPartition(topic: "none", partition: 0)])
    let alone = await kafka.collect(consumer) { [polled] more in
      (polled + more).messages.count { $0.source == other } == 12
    }
    #expect(!alone.messages.contains { $0.source == paused }, "a paused partition is silent")
    polled += alone
    consumer.resume([paused, other])
    polled += await kafka.collect(consumer) { [polled] more in (polled + more).messages.count >= 24
    }
    for partition in [paused, other] {
      let offsets = polled.messages.filter { $0.source == partition }.map(\.offset)
      #expect(offsets == Array(0..<12))
    }
    #expect(consumer.close(timeout: .seconds(5)))
  }

  /// Once it is committed, it is known what the partition loses.
  @Test(arguments: ContractKafka.that())
  func theEndIsReportedOnlyWhereNothingWasCommitted(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 2)
    let empty = KafkaPartition(topic: topic, partition: 0)
    let full = KafkaPartition(topic: topic, partition: 1)
    try await kafka.sendNumbers(0..<3, to: topic, partition: 1)
    let consumer = try kafka.joined(topic)
    let polled = await kafka.collect(consumer) { $0.messages.count == 3 && $0.ends[empty] != nil }
    #expect(polled.ends == [empty: 0])
    try consumer.commitNow([empty: 0, full: 3], timeout: .seconds(10))
    #expect(consumer.close(timeout: .seconds(5)))

    let successor = try await kafka.member(of: topic)
    try await kafka.sendNumbers(3..<4, to: topic, partition: 1)
    let more = await kafka.collect(successor) { !$0.messages.isEmpty }
    #expect(more.ends.isEmpty && more.skipped.isEmpty)
    #expect(more.messages.map(\.offset) == [3])
    #expect(successor.close(timeout: .seconds(5)))
  }

  @Test(arguments: ContractKafka.that(can: .transactions))
  func theEndBehindATransactionIsReached(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 1)
    let partition = KafkaPartition(topic: topic, partition: 0)
    try kafka.writeInTransactions(3, to: partition)
    let consumer = try kafka.joined(topic)
    let polled = await kafka.collect(consumer) { polled in
      polled.messages.count == 3
        && polled.ends[partition] ?? 0 > (polled.messages.last?.offset ?? 0) + 1
    }
    let last = try #require(polled.ends[partition])
    #expect(polled.skipped.isEmpty && polled.errors.isEmpty)
    try consumer.commitNow([partition: last], timeout: .seconds(10))
    await kafka.collectLag(consumer, [partition: 0])
    #expect(consumer.close(timeout: .seconds(10)))
    try kafka.writeInTransactions(1, to: partition)
    let next = try kafka.joined(topic)
    let more = await kafka.collect(next) { $0.ends[partition] ?? 0 > last }
    #expect(more.messages.map(\.offset) == [last] && more.skipped.isEmpty)
    #expect(next.close(timeout: .seconds(10)))
  }

  @Test(arguments: ContractKafka.that(can: .retention))
  func recordsDeletedBeforeAMemberJoinsAreSkipped(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 1)
    let partition = KafkaPartition(topic: topic, partition: 0)
    try await kafka.sendNumbers(0..<3, to: topic, partition: 0)
    let first = try kafka.joined(topic)
    _ = await kafka.collectMessages(first, 3)
    try first.commitNow([partition: 2], timeout: .seconds(10))
    #expect(first.close(timeout: .seconds(5)))
    let producer = try kafka.producer(kafka.options)
    try await kafka.settle { try await kafka.overtake(partition, producer) }
    let second = try kafka.joined(topic)
    let polled = await kafka.collect(second) { !$0.messages.isEmpty }
    let next = try #require(polled.messages.first?.offset)
    #expect(next > 3 && polled.skipped == [partition: [2..<next]])
    #expect(second.close(timeout: .seconds(5)))
    producer.close(timeout: .seconds(1))
  }

  @Test(arguments: ContractKafka.that(can: .retention))
  func recordsDeletedDuringAPauseAreSkipped(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 1)
    let partition = KafkaPartition(topic: topic, partition: 0)
    try await kafka.sendNumbers(0..<1, to: topic, partition: 0)
    let consumer = try kafka.joined(topic)
    _ = await kafka.collectMessages(consumer, 1)
    consumer.pause([partition])
    let producer = try kafka.producer(kafka.options)
    try await kafka.settle { try await kafka.overtake(partition, producer) }
    consumer.resume([partition])
    let polled = await kafka.collect(consumer) { !$0.messages.isEmpty }
    let next = try #require(polled.messages.first?.offset)
    #expect(next > 1 && polled.skipped == [partition: [1..<next]])
    #expect(consumer.close(timeout: .seconds(5)))
    producer.close(timeout: .seconds(1))
  }

  @Test(arguments: ContractKafka.that(can: .retention))
  func aGroupThatBeginsMissesNothing(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 1)
    let producer = try kafka.producer(kafka.options)
    try await kafka.settle {
      try await kafka.overtake(KafkaPartition(topic: topic, partition: 0), producer)
    }
    let consumer = try kafka.joined(topic)
    let polled = await kafka.collect(consumer) { !$0.messages.isEmpty }
    #expect(polled.messages[0].offset > 0 && polled.skipped.isEmpty)
    #expect(consumer.close(timeout: .seconds(5)))
    producer.close(timeout: .seconds(1))
  }

  @Test(arguments: ContractKafka.that(can: .deletion))
  func deletedRecordsAreSkippedAtTheEndOfThePartition(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 1)
    let partition = KafkaPartition(topic: topic, partition: 0)
    try await kafka.sendNumbers(0..<10, to: topic, partition: 0)
    let first = try kafka.joined(topic)
    _ = await kafka.collectMessages(first, 10)
    try first.commitNow([partition: 4], timeout: .seconds(10))
    #expect(first.close(timeout: .seconds(10)))
    try kafka.delete(before: 10, of: partition)
    let second = try kafka.joined(topic)
    let polled = await kafka.collect(second) { !$0.skipped.isEmpty }
    #expect(polled.skipped == [partition: [4..<10]] && polled.messages.isEmpty)
    #expect(second.close(timeout: .seconds(10)))
  }

  @Test(arguments: ContractKafka.that(can: .topicsAgain))
  func aTopicThatIsMadeAgainIsReadFromItsBeginning(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 1)
    try await kafka.sendNumbers(0..<9, to: topic, partition: 0)
    let consumer = try kafka.joined(topic)
    _ = await kafka.collectMessages(consumer, 9)
    try kafka.makeAgain(topic, partitions: 1)
    try await kafka.sendNumbers(0..<2, to: topic, partition: 0)
    let again = await kafka.collect(consumer) { $0.messages.count >= 2 }
    #expect(again.messages.map(\.offset) == [0, 1] && again.skipped.isEmpty)
    #expect(consumer.close(timeout: .seconds(5)))
  }

  @Test(arguments: ContractKafka.that())
  func lagCountsWhatIsNotCommitted(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 2)
    let (first, second) = (
      KafkaPartition(topic: topic, partition: 0), KafkaPartition(topic: topic, partition: 1)
    )
    try await kafka.sendNumbers(0..<5, to: topic, partition: 0)
    let consumer = try kafka.joined(topic)
    _ = await kafka.collectMessages(consumer, 5)
    await kafka.collectLag(consumer, [first: 5, second: 0])
    consumer.pause([first, second])
    consumer.commit([first: 3])
    _ = await kafka.collect(consumer) { !$0.committed.isEmpty }
    try await kafka.sendNumbers(5..<12, to: topic, partition: 0)
    try await kafka.sendNumbers(0..<4, to: topic, partition: 1)
    await kafka.collectLag(consumer, [first: 9, second: 4])
    #expect(consumer.close(timeout: .seconds(5)))
    #expect(consumer.lag.isEmpty)
  }
}
