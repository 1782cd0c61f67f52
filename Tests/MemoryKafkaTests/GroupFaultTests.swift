import Kafka
import MemoryKafka
import Testing

/// What a world does to the groups of a Kafka in memory.
@Suite @KafkaContract struct GroupFaultTests {
  private let kafka = MemoryUnderTest()
  private let topic: String
  private var broker: MemoryBroker { kafka.broker }
  private var all: [KafkaPartition] { (0..<4).map { KafkaPartition(topic: topic, partition: $0) } }

  init() {
    topic = kafka.makeTopic(partitions: 4)
    for partition in 0..<4 { append(5, to: Int32(partition)) }
  }

  private func append(_ count: Int, to partition: Int32) {
    for number in 0..<count {
      broker.append(
        MemoryRecord(key: nil, value: [UInt8(truncatingIfNeeded: number)], timestamp: 0),
        to: KafkaPartition(topic: topic, partition: partition))
    }
  }

  private func member(
    _ host: MemoryHost, instance: String? = nil, _ change: (inout KafkaOptions) -> Void = { _ in }
  ) throws -> MemoryConsumer {
    var options = kafka.options
    options.staticMember = instance
    change(&options)
    let consumer = host.consumer(options, topics: [topic])
    try consumer.subscribe()
    return consumer
  }

  /// Polls all until what the last has is as wanted; returns what each polled.
  @discardableResult
  private func poll(
    _ consumers: [MemoryConsumer], seconds: Int = 60,
    sourceLocation: SourceLocation = #_sourceLocation, until isDone: () -> Bool
  ) -> [[KafkaPoll]] {
    var polled = consumers.map { _ in [KafkaPoll]() }
    let deadline = kafka.elapsed + .seconds(seconds)
    while !isDone() {
      if kafka.elapsed > deadline {
        Issue.record("not within \(seconds) s: \(polled)", sourceLocation: sourceLocation)
        return polled
      }
      for (index, consumer) in consumers.enumerated() {
        while let next = consumer.poll() { polled[index].append(next) }
      }
      kafka.pass()
    }
    return polled
  }

  private func passes(_ duration: Duration, _ consumers: MemoryConsumer...) -> [[KafkaPoll]] {
    let end = kafka.elapsed + duration
    return poll(consumers, seconds: 3600) { kafka.elapsed >= end }
  }

  @Test func aFrozenMemberLosesItsPartitionsAfterItsSession() throws {
    let (stuck, well) = (broker.host("stuck"), broker.host("well"))
    let first = try member(stuck)
    let second = try member(well)
    poll([first, second]) { first.assignment.count == 2 && second.assignment.count == 2 }
    let mine = first.assignment.sorted()
    stuck.freeze()
    poll([second]) { second.assignment.count == 4 }
    try second.commitNow([mine[0]: 4], timeout: .seconds(1))
    // It does not know yet.
    let late = #expect(throws: KafkaError.self) {
      try first.commitNow([mine[0]: 1], timeout: .seconds(1))
    }
    #expect(late?.code == .rebalanced)
    #expect(broker.committed(by: "g")[mine[0]] == 4)
    stuck.thaw()
    let polled = poll([first, second]) {
      first.assignment.count == 2 && second.assignment.count == 2
    }
    #expect(polled[0].lost == mine && polled[0].revoked.isEmpty)
  }

  /// A shorter pause is no news to anybody.
  @Test func aShortFreezeKeepsTheAssignment() throws {
    let host = broker.host("stuck")
    let first = try member(host)
    poll([first]) { first.assignment.count == 4 }
    let generation = broker.generation(of: "g")
    host.freeze()
    _ = passes(.seconds(2))
    host.thaw()
    let polled = passes(.seconds(10), first)
    #expect(polled[0].lost.isEmpty && polled[0].revoked.isEmpty)
    #expect(broker.generation(of: "g") == generation)
  }

  @Test func aCrashIsNoticedAfterTheSession() throws {
    let (dies, lives) = (broker.host("dies"), broker.host("lives"))
    let first = try member(dies)
    let second = try member(lives)
    poll([first, second]) { first.assignment.count == 2 && second.assignment.count == 2 }
    dies.crash()
    let before = kafka.elapsed
    let polled = poll([second]) { second.assignment.count == 4 }
    #expect(kafka.elapsed - before > .seconds(2))
    #expect(polled[0].revoked.count == 2)
    #expect(first.poll() == nil || first.assignment.count == 2, "nothing reaches the dead")
  }

  @Test func aStaticMemberThatCrashedComesBackUnnoticed() throws {
    let lives = broker.host("lives")
    let first = try member(broker.host("before"), instance: "one")
    let second = try member(lives, instance: "two")
    poll([first, second]) { first.assignment.count == 2 && second.assignment.count == 2 }
    let mine = first.assignment
    first.host.crash()
    let again = try member(broker.host("after"), instance: "one")
    let polled = poll([again, second]) { again.assignment == mine }
    #expect(polled[1].revoked.isEmpty && polled[1].assigned.isEmpty)
    #expect(broker.members(of: "g").map(\.host) == ["after", "lives"])
    // After its session it is given up like any other.
    again.host.crash()
    poll([second]) { second.assignment.count == 4 }
  }

  @Test func aFencedMemberCannotGoOn() throws {
    let first = try member(broker.host("w"), instance: "one")
    poll([first]) { first.assignment.count == 4 }
    _ = passes(.seconds(1), first)
    broker.fence(instance: "one", of: "g")
    append(5, to: 0)
    let polled = passes(.seconds(20), first)[0]
    #expect(polled.errors.map(\.code) == [.fatal] && polled.lost.isEmpty)
    #expect(throws: KafkaError.self) {
      try first.commitNow([all[0]: 1], timeout: .seconds(1))
    }
    append(5, to: 0)
    #expect(passes(.seconds(20), first)[0].messages.isEmpty)
    #expect(first.close(timeout: .zero))
  }

  /// What was asked before the end of an older connection was noticed is asked once more.
  @Test func connectionsThatBreakDuringAFreezeDoubleNothing() throws {
    let host = broker.host("w")
    let first = try member(host)
    poll([first]) { first.assignment.count == 4 }
    _ = passes(.seconds(1), first)
    host.freeze()
    for _ in 0..<2 {
      host.breakConnections()
      kafka.time.advance(by: .milliseconds(20))
    }
    append(3, to: 0)
    host.thaw()
    #expect(passes(.seconds(1), first)[0].messages.map(\.offset) == [5, 6, 7])
  }

  @Test func anUnsubscribedMemberIsNoMemberAtOnce() throws {
    let first = try member(broker.host("w"))
    poll([first]) { first.assignment.count == 4 }
    first.unsubscribe()
    #expect(passes(.milliseconds(100), first)[0].revoked == all)
    #expect(broker.members(of: "g").isEmpty)
  }

  @Test func aMemberThatIsCutOffNoticesTheEndOfItsSession() throws {
    let host = broker.host("w")
    let first = try member(host)
    poll([first]) { first.assignment.count == 4 }
    host.cut()
    let polled = passes(.seconds(6), first)[0]
    #expect(polled.lost == all && polled.reachable.last == false)
    host.mend()
    poll([first]) { first.assignment.count == 4 }
  }

  /// A broker that starts again gives its members time to come back.
  @Test(arguments: [false, true])
  func sessionsOutliveAnOutageUnlessTheyGoOn(sessionsGoOn: Bool) throws {
    let first = try member(broker.host("w"))
    poll([first]) { first.assignment.count == 4 }
    let generation = broker.generation(of: "g")
    broker.setAway(true, sessionsGoOn: sessionsGoOn)
    _ = passes(.seconds(3), first)
    broker.setAway(false)
    _ = passes(.seconds(10), first)
    #expect(broker.generation(of: "g") == generation)
    broker.setAway(true, sessionsGoOn: sessionsGoOn)
    #expect(passes(.seconds(6), first)[0].lost == all)
    #expect(broker.members(of: "g").isEmpty == sessionsGoOn)
    broker.setAway(false)
    poll([first]) { first.assignment.count == 4 }
  }

  @Test func aMemberThatPollsTooSeldomLeavesTheGroup() throws {
    let first = try member(broker.host("w")) { $0.pollIntervalMaximum = .seconds(10) }
    poll([first]) { first.assignment.count == 4 }
    _ = passes(.seconds(15))
    #expect(broker.members(of: "g").isEmpty)
    let polled = poll([first]) { first.assignment.count == 4 && !broker.members(of: "g").isEmpty }
    #expect(polled[0].errors.map(\.code) == [.rebalanced] && polled[0].lost == all)
  }

  @Test func aWorldCanForceRebalancesAndEvictions() throws {
    let first = try member(broker.host("w"))
    poll([first]) { first.assignment.count == 4 }
    broker.rebalance(group: "g")
    let asked = passes(.seconds(3), first)[0]
    #expect(asked.revoked == all && asked.assigned == all && asked.lost.isEmpty)
    broker.evict(host: "w", from: "g")
    let evicted = passes(.seconds(6), first)[0]
    #expect(evicted.lost == all && evicted.assigned == all && evicted.revoked.isEmpty)
  }

  /// Whoever keeps its partitions for longer than the group waits is no member any more.
  @Test func aGroupWaitsOnlySoLong() throws {
    let first = try member(broker.host("slow")) { $0.pollIntervalMaximum = .seconds(10) }
    first.asksBeforeRevoke = true
    poll([first]) { first.assignment.count == 4 }
    let second = try member(broker.host("w")) { $0.pollIntervalMaximum = .seconds(10) }
    poll([first, second]) { second.assignment.count == 4 }
    first.offsetsToCommitOnRevoke = { [all] _ in [all[0]: 3] }
    first.giveUpRevoked()
    let polled = passes(.seconds(1), first, second)[0]
    #expect(polled.commitFailures.map(\.code) == [.rebalanced] && polled.revoked == all)
    #expect(broker.committed(by: "g").isEmpty)
  }

  @Test(arguments: [false, true]) func aCommitMayBeUnknown(isDone: Bool) throws {
    let first = try member(broker.host("w"))
    poll([first]) { first.assignment.count == 4 }
    broker.fail(
      next: .commit, with: [.unanswered(isDone: isDone), .unanswered(isDone: isDone)])
    first.commit([all[0]: 2])
    let polled = passes(.seconds(1), first)[0]
    #expect(polled.commitFailures.map(\.code) == [.timedOut] && polled.committed.isEmpty)
    let now = #expect(throws: KafkaError.self) {
      try first.commitNow([all[1]: 3], timeout: .seconds(1))
    }
    #expect(now?.code == .timedOut)
    #expect(broker.committed(by: "g") == (isDone ? [all[0]: 2, all[1]: 3] : [:]))
    #expect(passes(.seconds(5), first)[0].lost.isEmpty, "it is a member still")
  }

  @Test func anAnswerThatComesTooLateDoesNotCome() throws {
    let first = try member(broker.host("w"))
    poll([first]) { first.assignment.count == 4 }
    broker.delay = { _ in .seconds(2) }
    let late = #expect(throws: KafkaError.self) {
      try first.commitNow([all[0]: 1], timeout: .seconds(3))
    }
    #expect(late?.code == .timedOut)
    try first.commitNow([all[0]: 1], timeout: .seconds(5))
  }

  @Test func commitsWaitForTheCoordinatorAsLongAsASession() throws {
    let host = broker.host("w")
    let first = try member(host)
    poll([first]) { first.assignment.count == 4 }
    broker.setAway(true)
    first.commit([all[0]: 1])
    _ = passes(.seconds(2), first)
    broker.setAway(false)
    #expect(passes(.seconds(1), first)[0].committed == [all[0]: 1])
    broker.setAway(true)
    first.commit([all[0]: 2])
    #expect(passes(.seconds(7), first)[0].commitFailures.map(\.code) == [.unreachable])
  }

  @Test func topicsThatComeLaterAreNoticed() throws {
    let consumer = broker.host("w").consumer(kafka.options, topics: [topic, "later"])
    try consumer.subscribe()
    let early = poll([consumer]) { consumer.assignment.count == 4 }
    #expect(early[0].errors.map(\.code) == [.unknownTopic])
    broker.create(topic: "later", partitions: 2)
    let polled = poll([consumer]) { consumer.assignment.count == 6 }
    #expect(polled[0].revoked == all)
    broker.delete(topic: "later")
    let gone = poll([consumer]) { consumer.assignment.count == 4 }
    #expect(gone[0].errors.map(\.code) == [.unknownTopic])
  }

  /// What was fetched ahead is read all the same, as on librdkafka.
  @Test func retentionSkipsOnlyRecordsThatAreNotFetchedYet() throws {
    let first = try member(broker.host("w"))
    poll([first]) { first.assignment.count == 4 }
    while first.poll() != nil {}
    append(150, to: 0)
    kafka.time.advance(by: .seconds(1))
    #expect(first.poll().map { [$0].messages.map(\.offset) } == [5])
    append(1000, to: 0)
    kafka.time.advance(by: .seconds(1))
    append(500, to: 0)
    broker.deleteRecords(of: all[0], before: 1655)
    append(1, to: 0)
    let polled = passes(.seconds(2), first)[0]
    let skipped = try #require(polled.skipped[all[0]]?.first)
    #expect(polled.messages.map(\.offset) == Array(6..<skipped.lowerBound) + [1655])
    #expect(skipped.upperBound == 1655 && skipped.lowerBound > 1000)
  }

  @Test func aClosedMemberLeavesAtOnce() throws {
    let (leaves, stays) = (broker.host("leaves"), broker.host("stays"))
    let first = try member(leaves)
    let second = try member(stays)
    poll([first, second]) { first.assignment.count == 2 && second.assignment.count == 2 }
    #expect(first.close(timeout: .seconds(1)) && first.close(timeout: .seconds(1)))
    let before = kafka.elapsed
    poll([second]) { second.assignment.count == 4 }
    #expect(kafka.elapsed - before < .seconds(3), "it need not be missed")
    broker.setAway(true)
    #expect(!second.close(timeout: .seconds(1)), "nobody hears of it")
  }
}
