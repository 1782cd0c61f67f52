import Glibc
import Kafka
import Testing

/// Groups and commits: the same for each Kafka.
@Suite @KafkaContract struct ContractGroupTests {
  @Test(arguments: ContractKafka.that())
  func redeliversWhatWasNotCommitted(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 1)
    let partition = KafkaPartition(topic: topic, partition: 0)
    try await kafka.sendNumbers(0..<5, to: topic)
    for expected in [0, 3] {
      let consumer = try kafka.consumer(kafka.options, [topic])
      consumer.offsetsToCommitOnRevoke = { partitions in
        Dictionary(uniqueKeysWithValues: partitions.map { ($0, 3) })
      }
      try consumer.subscribe()
      let read = await kafka.collectMessages(consumer, 5 - expected)
      #expect(read.map(\.offset) == Array(Int64(expected)..<5))
      // Committed inside `close`, when the partition is given back.
      #expect(consumer.close(timeout: .seconds(5)))
      let rest = await kafka.collect(consumer) { $0.count >= 2 }
      #expect(rest == [.committed([partition: 3]), .revoked([partition])])
    }
  }

  @Test(arguments: ContractKafka.that())
  func twoMembersShareThePartitions(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 4)
    let all = Set((0..<4).map { KafkaPartition(topic: topic, partition: $0) })
    let first = try await kafka.member(of: topic)
    // A pause must not outlive the assignment it was made in.
    first.pause(all.sorted())
    let second = try kafka.joined(topic)
    var holdings = [Holdings(), Holdings()]
    holdings[0].note(.assigned(all.sorted()))
    let polled = await kafka.share([first, second], &holdings) { $0.allSatisfy { $0.count == 2 } }
    #expect(Set(polled[0].revoked) == all)
    #expect(polled[0].revoking.isEmpty && polled[0].lost.isEmpty)
    let (ofFirst, ofSecond) = (holdings[0].partitions, holdings[1].partitions)
    #expect(ofFirst.union(ofSecond) == all)
    // The assignor is `range`.
    for shares in [ofFirst, ofSecond] {
      #expect([[0, 1], [2, 3]].contains(shares.map(\.partition).sorted()))
    }
    for partition in 0..<4 {
      try await kafka.sendNumbers(0..<5, to: topic, partition: Int32(partition))
    }
    #expect(await Set(kafka.collectMessages(first, 10).map(\.source)) == ofFirst)
    #expect(await Set(kafka.collectMessages(second, 10).map(\.source)) == ofSecond)
    // One leaves, the other takes over.
    #expect(second.close(timeout: .seconds(5)))
    _ = await kafka.share([first], &holdings) { $0[0] == all }
    #expect(first.close(timeout: .seconds(5)))
  }

  /// The group waits for us.
  @Test(arguments: ContractKafka.that())
  func aRevocationWaitsUntilThePartitionsAreGivenUp(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 2)
    let all = (0..<2).map { KafkaPartition(topic: topic, partition: $0) }
    var options = kafka.options
    options.sessionTimeout = .seconds(10)
    let first = try kafka.consumer(options, [topic])
    first.asksBeforeRevoke = true
    try first.subscribe()
    var held = await kafka.collect(first) { !$0.assigned.isEmpty }
    let second = try kafka.joined(topic, options)
    var early: [KafkaPoll] = []
    held += await kafka.collect(first) { polled in
      if let next = second.poll(timeout: .milliseconds(5)) { early.append(next) }
      return !polled.revoking.isEmpty
    }
    #expect(held.revoking == all && held.revoked.isEmpty && early.assigned.isEmpty)
    first.giveUpRevoked()
    #expect(await kafka.collect(first) { !$0.revoked.isEmpty } == [.revoked(all)])
    first.giveUpRevoked()
    first.asksBeforeRevoke = false
    var holdings = [Holdings(), Holdings()]
    _ = await kafka.share([first, second], &holdings) { $0.allSatisfy { $0.count == 1 } }
    #expect(second.close(timeout: .seconds(5)))
    #expect(first.close(timeout: .seconds(5)))
  }

  /// The next owner begins where we ended.
  @Test(arguments: ContractKafka.that(can: .commitsInRebalance))
  func commitsWhileTheGroupWaits(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 2)
    let all = (0..<2).map { KafkaPartition(topic: topic, partition: $0) }
    for partition in all {
      try await kafka.sendNumbers(0..<6, to: topic, partition: partition.partition)
    }
    var options = kafka.options
    options.sessionTimeout = .seconds(10)
    let first = try kafka.consumer(options, [topic])
    first.asksBeforeRevoke = true
    try first.subscribe()
    _ = await kafka.collectMessages(first, 12)
    let second = try kafka.joined(topic, options)
    var early: [KafkaPoll] = []
    let asked = await kafka.collect(first) { polled in
      if let next = second.poll(timeout: .milliseconds(5)) { early.append(next) }
      return !polled.revoking.isEmpty
    }
    #expect(asked.revoking == all && asked.revoked.isEmpty)
    // The partitions are ours still.
    first.pause(all)
    first.commit([all[0]: 4])
    let committed = await kafka.collect(first) {
      !$0.committed.isEmpty || !$0.commitFailures.isEmpty
    }
    #expect(committed.committed == [all[0]: 4] && committed.revoked.isEmpty)
    #expect(early.assigned.isEmpty)
    first.offsetsToCommitOnRevoke = { _ in [all[0]: 5, all[1]: 5] }
    first.giveUpRevoked()
    let given = await kafka.collect(first) { !$0.revoked.isEmpty }
    #expect(given == [.committed([all[0]: 5, all[1]: 5]), .revoked(all)])
    first.giveUpRevoked()
    first.asksBeforeRevoke = false
    var holdings = [Holdings(), Holdings()]
    let polled = await kafka.share([first, second], &holdings) { $0.allSatisfy { $0.count == 1 } }
    let read = (polled[0] + polled[1]).messages.map(\.offset)
    #expect(read.allSatisfy { $0 == 5 })
    #expect(second.close(timeout: .seconds(5)))
    #expect(first.close(timeout: .seconds(5)))
  }

  /// A broker takes offsets of any partition from any member of the group.
  @Test(arguments: ContractKafka.that())
  func commitsNothingOfAPartitionThatAnotherMemberHas(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 2)
    for partition in 0..<2 {
      try await kafka.sendNumbers(0..<9, to: topic, partition: Int32(partition))
    }
    let consumers = [try kafka.joined(topic), try kafka.joined(topic)]
    var holdings = [Holdings(), Holdings()]
    _ = await kafka.share(consumers, &holdings) { $0.allSatisfy { $0.count == 1 } }
    let kept = try #require(holdings[0].partitions.first)
    let gone = try #require(holdings[1].partitions.first)
    try consumers[1].commitNow([gone: 7], timeout: .seconds(10))
    // What is ours is committed all the same.
    #expect(throws: KafkaError.self) {
      try consumers[0].commitNow([gone: 2, kept: 3], timeout: .seconds(10))
    }
    consumers[0].commit([gone: 2])
    let polled = await kafka.collect(consumers[0]) {
      !$0.committed.isEmpty || !$0.commitFailures.isEmpty
    }
    #expect(polled.commitFailures.map(\.code) == [.rebalanced])
    consumers[0].offsetsToCommitOnRevoke = { _ in [gone: 2, kept: 4] }
    for consumer in consumers { #expect(consumer.close(timeout: .seconds(5))) }
    let successor = try kafka.joined(topic)
    let read = await kafka.collectMessages(successor, 2 + 5)
    #expect(read.first { $0.source == gone }?.offset == 7)
    #expect(read.first { $0.source == kept }?.offset == 4)
    #expect(successor.close(timeout: .seconds(5)))
  }

  @Test(arguments: ContractKafka.that())
  func anUnsubscribedConsumerLeavesAndCanRejoin(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 1)
    let partition = KafkaPartition(topic: topic, partition: 0)
    let consumer = try await kafka.member(of: topic)
    consumer.unsubscribe()
    let left = await kafka.collect(consumer) { !$0.revoked.isEmpty || !$0.lost.isEmpty }
    #expect(left.revoked == [partition])
    let other = try await kafka.member(of: topic)
    #expect(other.close(timeout: .seconds(5)))
    try consumer.subscribe()
    #expect(await kafka.collect(consumer) { !$0.assigned.isEmpty }.assigned == [partition])
    #expect(consumer.close(timeout: .seconds(5)))
  }

  @Test(arguments: ContractKafka.that())
  func aClosedConsumerJoinsNoGroup(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 1)
    let consumer = try kafka.consumer(kafka.options, [topic])
    #expect(consumer.close(timeout: .seconds(5)))
    #expect(await error { try consumer.subscribe() }?.code == .closed)
    let partition = KafkaPartition(topic: topic, partition: 0)
    #expect(
      await error { try consumer.commitNow([partition: 1], timeout: .zero) }?.code == .closed)
    consumer.commit([partition: 1])
    #expect(consumer.poll(timeout: .zero) == nil)
    #expect(consumer.close(timeout: .seconds(5)))
  }

  @Test(arguments: ContractKafka.that(can: .staticMembers))
  func aStaticMemberComesBackToItsPartitions(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 4)
    var options = kafka.options
    options.sessionTimeout = .seconds(30)
    options.staticMember = "stays"
    let stays = try kafka.joined(topic, options)
    options.staticMember = "goes"
    let goes = try kafka.joined(topic, options)
    var holdings = [Holdings(), Holdings()]
    _ = await kafka.share([stays, goes], &holdings) { $0.allSatisfy { $0.count == 2 } }
    let before = holdings[1].partitions
    #expect(goes.close(timeout: .seconds(10)))
    let back = try kafka.joined(topic, options)
    holdings[1] = Holdings()
    let polled = await kafka.share([stays, back], &holdings) { $0[1].count == 2 }
    #expect(holdings[1].partitions == before)
    #expect(polled[0].assigned.isEmpty && polled[0].revoked.isEmpty && polled[0].lost.isEmpty)
    #expect(stays.close(timeout: .seconds(10)))
    #expect(back.close(timeout: .seconds(10)))
  }

  /// The older of two that say they are the same is beyond repair.
  @Test(arguments: ContractKafka.that(can: .staticMembers))
  func theOlderOfTwoStaticMembersIsFenced(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 1)
    let partition = KafkaPartition(topic: topic, partition: 0)
    var options = kafka.options
    options.sessionTimeout = .seconds(30)
    options.staticMember = "one"
    let older = try await kafka.member(of: topic, options)
    let newer = try await kafka.member(of: topic, options)
    let polled = await kafka.collect(older) { !$0.errors.isEmpty }
    #expect(polled.errors.map(\.code) == [.fatal])
    // It is not even told that its partitions are gone.
    #expect(polled.revoked.isEmpty && polled.lost.isEmpty)
    let late = await error { try older.commitNow([partition: 0], timeout: .seconds(10)) }
    #expect(late?.code == .rebalanced || late?.isFatal == true)
    try newer.commitNow([partition: 0], timeout: .seconds(10))
    older.close(timeout: .seconds(10))
    #expect(newer.close(timeout: .seconds(10)))
  }

  @Test(
    arguments: ContractKafka.that(can: .failures),
    [ContractFailure.rebalanceInProgress, .illegalGeneration, .topicAuthorizationFailed])
  func reportsARefusedCommit(kafka: ContractKafka, failure: ContractFailure) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 1)
    let partition = KafkaPartition(topic: topic, partition: 0)
    let expected: KafkaError.Code =
      failure == .topicAuthorizationFailed ? .authorization : .rebalanced
    let consumer = try await kafka.member(of: topic)
    try kafka.failCommit(failure)
    consumer.commit([partition: 7])
    let polled = await kafka.collect(consumer) {
      !$0.commitFailures.isEmpty || !$0.committed.isEmpty
    }
    #expect(polled.commitFailures.map(\.code) == [expected])
    #expect(polled.committed.isEmpty)
    // Whoever is of another generation has lost its partitions, and joins again.
    if failure == .illegalGeneration {
      let after = await polled + kafka.collect(consumer) { !$0.assigned.isEmpty }
      #expect(after.lost == [partition] && after.assigned == [partition])
    }
    try kafka.failCommit(failure)
    let refused = await error { try consumer.commitNow([partition: 7], timeout: .seconds(5)) }
    #expect(refused?.code == expected)
    consumer.close(timeout: .seconds(5))
  }

  @Test(arguments: ContractKafka.that(can: .failures))
  func commitsAfterTheCoordinatorWasAway(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 1)
    let partition = KafkaPartition(topic: topic, partition: 0)
    let consumer = try await kafka.member(of: topic)
    try kafka.failCommit(.coordinatorNotAvailable)
    consumer.commit([partition: 7])
    #expect(await kafka.collect(consumer) { !$0.committed.isEmpty }.commitFailures.isEmpty)
    try kafka.failCommit(.coordinatorNotAvailable)
    try consumer.commitNow([partition: 8], timeout: .seconds(10))
    consumer.close(timeout: .seconds(5))
  }

  @Test(arguments: ContractKafka.that(can: .away))
  func goesOnWhenTheBrokerComesBack(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 1)
    let partition = KafkaPartition(topic: topic, partition: 0)
    var options = kafka.options
    options.reachabilityInterval = .milliseconds(200)
    options.sessionTimeout = .seconds(30)
    let consumer = try kafka.joined(topic, options)
    try await kafka.sendNumbers(0..<1, to: topic)
    let first = await kafka.collect(consumer) { !$0.messages.isEmpty && $0.reachable.last == true }
    #expect(first.messages.map(\.text) == ["0"])
    try kafka.setAway(true)
    let away = await kafka.collect(consumer) { $0.reachable.last == false }
    // The error may come later: what looks now and then may look first.
    #expect(away.errors.allSatisfy { $0.code == .unreachable && !$0.isFatal })
    #expect(away.reachable == [false])
    let failed = await error {
      try consumer.commitNow([partition: 1], timeout: .milliseconds(50))
    }
    #expect(failed?.code == .timedOut || failed?.code == .unreachable)
    try kafka.setAway(false)
    #expect(await kafka.collect(consumer) { !$0.reachable.isEmpty }.reachable == [true])
    try await kafka.sendNumbers(1..<2, to: topic)
    let read = await kafka.collect(consumer) { $0.messages.contains { $0.text == "1" } }
    #expect(read.errors.allSatisfy { !$0.isFatal })
    consumer.close(timeout: .seconds(5))
  }

  @Test(arguments: ContractKafka.that())
  func theWakerIsCalledWhenSomethingArrives(kafka: ContractKafka) async throws {
    let kafka = try kafka.start()
    let topic = try kafka.makeTopic(partitions: 1)
    var pipe: [Int32] = [0, 0]
    try #require(Glibc.pipe(&pipe) == 0)
    for descriptor in pipe { _ = fcntl(descriptor, F_SETFL, O_NONBLOCK) }
    defer { for descriptor in pipe { Glibc.close(descriptor) } }
    let (reads, writes) = (pipe[0], pipe[1])
    let consumer = try kafka.consumer(kafka.options, [topic])
    consumer.wake(
      by: ConsumerWaker(descriptor: writes) {
        var one: UInt64 = 1
        _ = write(writes, &one, 8)
      })
    try consumer.subscribe()
    // Never polled without a wake-up from here on.
    func waitForWake() async -> Bool {
      let deadline = kafka.elapsed + .seconds(60)
      while kafka.elapsed < deadline {
        var waiting = pollfd(fd: reads, events: Int16(POLLIN), revents: 0)
        if Glibc.poll(&waiting, 1, kafka is MemoryUnderTest ? 0 : 1) == 1 {
          var bytes = [UInt8](repeating: 0, count: 64)
          return read(reads, &bytes, bytes.count) >= 8
        }
        kafka.pass()
        await Task.yield()
      }
      return false
    }
    var polled: [KafkaPoll] = []
    while polled.assigned.isEmpty, await waitForWake() {
      while let next = consumer.poll(timeout: .zero) { polled.append(next) }
    }
    #expect(polled.assigned.count == 1)
    for number in 0..<3 {
      try await kafka.sendNumbers(number..<number + 1, to: topic)
      while polled.messages.count <= number, await waitForWake() {
        while let next = consumer.poll(timeout: .zero) { polled.append(next) }
      }
      #expect(polled.messages.last?.text == "\(number)")
    }
    #expect(consumer.close(timeout: .seconds(5)))
  }
}
