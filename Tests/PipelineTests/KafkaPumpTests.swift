import Ingest
import Kafka
import Telemetry
import Testing

@testable import Pipeline

/// What is committed when, and what becomes of records when a group changes under them.
@Suite(.serialized) struct KafkaPumpTests {
  private static let place = PumpBed.place

  @Test func finishesWhatRunsBeforeItGivesPartitionsUp() async throws {
    try await PumpBed.run(partitions: 2, revokeTimeout: .seconds(60)) { bed in
      try await bed.send(0, 1)
      try await bed.pump.start()
      try await bed.until("both run") { bed.lane.begun.count == 2 }
      let second = try bed.member()
      defer { second.close(timeout: .seconds(2)) }
      try await bed.until("the group asks", polling: second) { await !bed.pump.revoking.isEmpty }
      bed.lane.end(Self.place(0, 0))
      try await bed.until("one is done", polling: second) { await bed.pump.running.count == 1 }
      #expect(await !bed.pump.revoking.isEmpty)
      #expect(second.assignment.isEmpty)
      bed.lane.end(Self.place(1, 0))
      try await bed.until("they are given up", polling: second) { !second.assignment.isEmpty }
    }
  }

  /// The embedded broker takes no commit while a group changes, so this asks what the consumer
  /// would commit then. RebalanceTests sees it happen on a real Kafka.
  @Test func offersWhatIsDoneWhenPartitionsAreTakenAway() async throws {
    try await PumpBed.run { bed in
      try await bed.send(0)
      try await bed.pump.start()
      try await bed.until("it runs") { bed.lane.begun.count == 1 }
      #expect(await bed.pump.offeredOnRevoke() == [:])
      // Each commit of its own accord fails, so that there is something to offer again.
      bed.broker.fail(
        next: .offsetCommit, with: Array(repeating: .topicAuthorizationFailed, count: 1000))
      bed.lane.end(Self.place(0, 0))
      let partition = KafkaPartition(topic: PumpBed.topic, partition: 0)
      try await bed.until("it is offered") { await bed.pump.offeredOnRevoke() == [partition: 1] }
    }
  }

  @Test func givesUpInTimeAndJoinsWhatRunsStill() async throws {
    try await PumpBed.run(partitions: 2, revokeTimeout: .milliseconds(200)) { bed in
      try await bed.send(0, 1)
      try await bed.pump.start()
      try await bed.until("both run") { bed.lane.begun.count == 2 }
      let second = try bed.member()
      let others = try await bed.partition(of: second)
      let own = Self.place(1 - others, 0)
      // What stays here comes again, uncommitted as it is, and joins the run that goes on.
      try await bed.until("it has come again", polling: second) {
        await bed.pump.deliveries(of: own.partition) > 2
      }
      #expect(bed.lane.count(own) == 1)

      bed.lane.end(Self.place(others, 0))
      try await bed.until("both have ended", polling: second) {
        // Once; and again should the group have changed before its offset was committed.
        bed.lane.end(own)
        // Kafka has the offset: a commit on its way when the group changes would be refused.
        let commits = bed.counters.snapshot()[.kafkaCommits]
        let isIdle = await bed.pump.running.isEmpty
        return isIdle && commits > 0
      }
      let runs = bed.lane.count(own)
      // The other has done nothing of its partition: nobody may have committed it.
      second.close(timeout: .seconds(5))
      try await bed.until("it comes back") { bed.lane.count(Self.place(others, 0)) == 2 }
      #expect(bed.lane.count(own) == runs)
      // The consumer would refuse it, too.
      #expect(!bed.sink.lines.contains { $0.contains("another member's") })
    }
  }

  @Test func commitsAgainWhatWasNotCommitted() async throws {
    try await PumpBed.run { bed in
      try await bed.send(0)
      try await bed.pump.start()
      try await bed.until("it runs") { bed.lane.begun.count == 1 }
      bed.broker.fail(next: .offsetCommit, with: [.topicAuthorizationFailed])
      bed.lane.end(Self.place(0, 0))
      try await bed.until("the commit fails") {
        bed.sink.lines.contains { $0.contains("offsets not committed") }
      }
      // While the pump runs: what it commits as it stops would not help one that dies.
      try await bed.until("it is repeated") {
        bed.counters.snapshot()[.kafkaCommits] == 1
      }
      #expect(bed.counters.snapshot()[.kafkaCommitFailures] == 1)
      #expect(bed.failures == [])
      #expect(try await bed.successor(of: 0) == 1)
    }
  }

  @Test func asksAgainForWhatOthersWorkOnAndCommitsNothingThatIsNotDone() async throws {
    try await PumpBed.run { bed in
      try await bed.send(0)
      try await bed.pump.start()
      try await bed.until("it runs") { bed.lane.begun.count == 1 }
      bed.lane.end(Self.place(0, 0), .again(after: .milliseconds(50)))
      try await bed.until("it runs again") { bed.lane.begun.count == 2 }
      #expect(await bed.pump.aside == 0)
      #expect(await bed.pump.running.count == 1)
      bed.lane.end(Self.place(0, 0), .notDone)
      try await bed.until("it has ended") { await bed.pump.running.isEmpty }
      #expect(try await bed.successor(of: 0) == 0)
    }
  }

  @Test func aRecordThatWaitsForTheDeadLettersKeepsItsOffsetAndNoPlace() async throws {
    try await PumpBed.run(partitions: 2, eventsPerLane: 1) { bed in
      try await bed.send(0, 0)
      try await bed.pump.start()
      try await bed.until("the first runs") { bed.lane.begun.count == 1 }
      bed.letters.refuse(true)
      bed.lane.end(Self.place(0, 0), .hopeless(Self.reason))
      try await bed.until("its partition is held") { await bed.pump.held == 1 }
      #expect(await bed.pump.waitsFor.count { $0.contains("the dead letters refuse") } == 1)
      try await bed.send(1)
      try await bed.until("another partition has its place") { bed.lane.begun.count == 2 }
      #expect(bed.lane.begun.last == Self.place(1, 0))
      bed.lane.end(Self.place(1, 0))
      try await bed.until("that is done") { await bed.pump.running.count == 1 }
      #expect(bed.lane.begun.count == 2, "its own partition rests")
      #expect(bed.lane.noted.isEmpty)
      bed.letters.refuse(false)
      try await bed.until("its partition goes on") { bed.lane.begun.count == 3 }
      #expect(bed.lane.begun.last == Self.place(0, 1))
      #expect(try await bed.successor(of: 0) == 1)
    }
  }

  /// A worker that dies between the letter and its event's note does both again.
  @Test func aLettersOffsetAndPartitionWaitForItsNote() async throws {
    try await PumpBed.run(eventsPerLane: 1) { bed in
      try await bed.send(0, 0)
      try await bed.pump.start()
      try await bed.until("the first runs") { bed.lane.begun.count == 1 }
      bed.letters.refuse(true)
      bed.lane.holdNotes()
      bed.lane.end(Self.place(0, 0), .hopeless(Self.reason))
      try await bed.until("its partition is held") { await bed.pump.held == 1 }
      bed.letters.refuse(false)
      try await bed.until("its letter is taken") { bed.lane.noted.count == 1 }
      await bed.pump.dispatchAll()
      #expect(await bed.pump.held == 0)
      #expect(await bed.pump.running.count == 1)
      bed.lane.takeNotes()
      try await bed.until("its partition goes on") { bed.lane.begun.count == 2 }
      bed.lane.holdNotes()
      bed.lane.end(Self.place(0, 1), .hopeless(Self.reason))
      try await bed.until("the second is taken too") { bed.lane.noted.count == 2 }
      #expect(try await bed.successor(of: 0) == 1)
    }
  }

  @Test func whatIsHopelessGoesToTheDeadLettersAndIsCommitted() async throws {
    try await PumpBed.run { bed in
      try await bed.send(0, 0)
      try await bed.pump.start()
      try await bed.until("both run") { bed.lane.begun.count == 2 }
      bed.lane.end(Self.place(0, 0), .hopeless(Self.reason))
      try await bed.until("it has ended") { await bed.pump.running.count == 1 }
      #expect(bed.letters.taken.map(\.value) == [Array("0".utf8)])
      let codes = bed.letters.taken[0].headers.filter { $0.name == "fanfare-error-code" }
      #expect(codes.map { $0.value } == [Array(Self.reason.code.rawValue.utf8)])
      #expect(bed.lane.noted == [Self.place(0, 0)])
      #expect(await bed.pump.held == 0)
      #expect(try await bed.successor(of: 0) == 1)
    }
  }

  /// Whoever has its partition now reads its record again, and writes its letter.
  @Test func aLetterThatWaitsIsLeftToTheNextOwner() async throws {
    try await PumpBed.run(partitions: 2) { bed in
      try await bed.send(0, 1)
      try await bed.pump.start()
      try await bed.until("both run") { bed.lane.begun.count == 2 }
      bed.letters.refuse(true)
      for partition in [0, 1] as [Int32] {
        bed.lane.end(Self.place(partition, 0), .hopeless(Self.reason))
      }
      try await bed.until("both are held") { await bed.pump.held == 2 }
      let own = Self.place(0, 0)
      await bed.pump.shares(keeping: own.partition, givingUp: Self.place(1, 0).partition)
      let again = try #require(bed.lane.message(at: own))
      await bed.pump.handle(.message(again))
      try await bed.until("what stays comes again") { bed.lane.count(own) == 2 }
      // What is known of them is told at once, though this try has no answer yet.
      bed.letters.beSilent()
      bed.lane.end(own, .hopeless(Self.reason))
      try await bed.until("it is tried") { bed.letters.unanswered == 1 }
      #expect(await bed.pump.waitsFor.count { $0.contains("the dead letters refuse") } == 1)
      #expect(await bed.pump.held == 1)
      #expect(bed.letters.taken.isEmpty)
      bed.letters.refuse(false)
      bed.letters.fail()
      try await bed.until("it is written") { !bed.letters.taken.isEmpty }
      #expect(bed.letters.taken.map(\.value) == [Array("0".utf8)])
    }
  }

  /// A partition goes and comes back while its letter is on its way, and the letter fails then.
  @Test func aLetterThatFailsAfterItsPartitionCameBackIsWrittenAgain() async throws {
    try await PumpBed.run(partitions: 2, revokeTimeout: .milliseconds(200)) { bed in
      try await bed.send(0, 1)
      try await bed.pump.start()
      try await bed.until("both run") { bed.lane.begun.count == 2 }
      bed.letters.beSilent()
      for partition in [0, 1] as [Int32] {
        bed.lane.end(Self.place(partition, 0), .hopeless(Self.reason))
      }
      try await bed.until("both are on their way") { bed.letters.unanswered == 2 }
      let second = try bed.member()
      let others = try await bed.partition(of: second)
      try await bed.until("what stays has come again", polling: second) {
        await bed.pump.deliveries(of: Self.place(1 - others, 0).partition) > 2
      }
      bed.letters.fail()
      try await bed.until("it runs again", polling: second) {
        bed.lane.count(Self.place(1 - others, 0)) == 2
      }
      #expect(bed.letters.taken.isEmpty, "what is another's is not written here")
      bed.lane.end(Self.place(1 - others, 0), .hopeless(Self.reason))
      try await bed.until("it is written", polling: second) { bed.letters.taken.count == 1 }
      try await bed.until("it has ended", polling: second) { await bed.pump.running.isEmpty }
      let partition = KafkaPartition(topic: PumpBed.topic, partition: 1 - others)
      #expect(await bed.pump.offeredOnRevoke() == [partition: 1])
      second.close(timeout: .seconds(2))
    }
  }

  @Test func aStoppingWorkerDoesNotWaitForTheDeadLetters() async throws {
    try await PumpBed.run { bed in
      try await bed.send(0)
      try await bed.pump.start()
      try await bed.until("it runs") { bed.lane.begun.count == 1 }
      bed.letters.refuse(true)
      bed.lane.end(Self.place(0, 0), .hopeless(Self.reason))
      try await bed.until("its partition is held") { await bed.pump.held == 1 }
      let began = ContinuousClock.now
      #expect(await !bed.pump.drain(timeout: .seconds(120)))
      #expect(ContinuousClock.now - began < .seconds(60))
      #expect(try await bed.successor(of: 0) == 0)
    }
  }

  @Test func aDrainWaitsForWhatRunsAndBeginsNothing() async throws {
    try await PumpBed.run { bed in
      try await bed.send(0)
      try await bed.pump.start()
      try await bed.until("it runs") { bed.lane.begun.count == 1 }
      #expect(await !bed.pump.drain(timeout: .milliseconds(20)))
      async let isDone = bed.pump.drain(timeout: .seconds(60))
      try await bed.until("it drains") { await bed.pump.isWaitedFor }
      try await bed.send(0)
      bed.lane.end(Self.place(0, 0))
      #expect(await isDone)
      #expect(bed.lane.begun.count == 1)
      #expect(try await bed.successor(of: 0) == 1)
    }
  }

  /// While a group changes, the broker may let a commit wait for as long as it likes.
  @Test func theLastCommitIsNotMadeTwice() async throws {
    try await PumpBed.run { bed in
      try await bed.send(0)
      try await bed.pump.start()
      try await bed.until("it runs") { bed.lane.begun.count == 1 }
      bed.lane.end(Self.place(0, 0))
      try await bed.until("it is committed") {
        bed.counters.snapshot()[.kafkaCommits] == 1
      }
      await bed.stop()
      let polled = await bed.pump.polledAfterClosing()
      let partition = KafkaPartition(topic: PumpBed.topic, partition: 0)
      // librdkafka may have come to say that of the last commit itself.
      #expect(polled.count { $0 == .committed([partition: 1]) } <= 1, "\(polled)")
      #expect(try await bed.successor(of: 0) == 1)
    }
  }

  @Test func aClientThatCannotGoOnEndsTheWorkerOnce() async throws {
    try await PumpBed.run { bed in
      let fatal = KafkaError(code: .fatal, message: "fenced")
      let passing = KafkaError(code: .unreachable, message: "away")
      let partition = KafkaPartition(topic: PumpBed.topic, partition: 0)
      await bed.pump.handle(.error(passing))
      await bed.pump.handle(.commitFailed([partition: 1], passing))
      #expect(bed.failures == [])
      await bed.pump.handle(.commitFailed([partition: 1], fatal))
      await bed.pump.handle(.error(fatal))
      await bed.pump.handle(.error(fatal))
      #expect(bed.failures.count == 1)
      #expect(bed.failures.first?.contains("fenced") == true)
    }
  }

  private static let reason = IngestError(.tombstone, "no value")
}

extension KafkaPump {
  fileprivate var running: RunningRecords { dispatch.running }
  fileprivate var revoking: Set<KafkaPartition> { revocation.partitions }

  /// How many records Kafka had delivered when that of one of the first two runs, found by its
  /// partition, came last. Tasks begin in any order, so the lane does not know which run is whose.
  fileprivate func deliveries(of partition: KafkaPartition) -> Int {
    let runs = (1...2).compactMap { dispatch.running[$0] }
    return runs.first { $0.message.source == partition }?.number ?? 0
  }

  fileprivate var held: Int { deadLetters.held }
  fileprivate var isWaitedFor: Bool { !waiters.isEmpty }

  /// As Kafka says it when another member gets one of two partitions. The embedded broker drops
  /// members on a busy machine, so that two may not agree for minutes.
  fileprivate func shares(keeping own: KafkaPartition, givingUp other: KafkaPartition) {
    handle(.revoking([own, other]))
    handle(.revoked([own, other]))
    handle(.assigned([own]))
  }

  fileprivate func polledAfterClosing() -> [KafkaPoll] {
    var polled: [KafkaPoll] = []
    while let next = consumer.poll() { polled.append(next) }
    return polled
  }

  fileprivate func offeredOnRevoke() -> [KafkaPartition: Int64] {
    consumer.offsetsToCommitOnRevoke?([]) ?? [:]
  }
}
