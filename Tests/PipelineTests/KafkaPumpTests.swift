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
      // Who was given the partition before it was committed is handed it once more, ahead of the
      // next one.
      let next = Self.place(1 - others, 1)
      try await bed.send(1 - others)
      try await bed.until("the next one has ended", polling: second) {
        bed.lane.end(own)
        bed.lane.end(next)
        return await bed.pump.running.isEmpty && bed.lane.count(next) > 0
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
      #expect(await bed.pump.retries == 0)
      #expect(await bed.pump.running.count == 1)
      bed.lane.end(Self.place(0, 0), .notDone)
      try await bed.until("it has ended") { await bed.pump.running.isEmpty }
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
}
