import Ingest
import Kafka
import Telemetry
import Testing

@testable import Pipeline

/// What the pump does with records that go to the dead letters.
@Suite(.serialized) struct PumpLetterTests {
  private static let place = PumpBed.place
  private static let reason = IngestError(.tombstone, "no value")

  @Test func aRecordThatWaitsForTheDeadLettersKeepsItsOffsetAndNoPlace() async throws {
    try await PumpBed.run(partitions: 2, eventsPerLane: 1) { bed in
      try await bed.send(0, 0)
      try await bed.pump.start()
      try await bed.until("the first runs") { bed.lane.begun.count == 1 }
      bed.letters.refuse(true)
      bed.lane.end(Self.place(0, 0), .deadLetter(Self.reason))
      try await bed.until("its partition is held") { await bed.pump.waitingLetters == 1 }
      #expect(await bed.pump.waitsFor.count { $0.text.contains("the dead letters refuse") } == 1)
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

  /// Of a topic that is missing nothing is heard for half a minute.
  @Test func lettersWithoutAnAnswerKeepNoPlaces() async throws {
    try await PumpBed.run(partitions: 3, eventsPerLane: 2) { bed in
      try await bed.send(0, 0, 1, 1)
      try await bed.pump.start()
      try await bed.until("two run") { bed.lane.begun.count == 2 }
      bed.letters.beSilent()
      for place in bed.lane.begun { bed.lane.end(place, .deadLetter(Self.reason)) }
      try await bed.until("both are tried") { bed.letters.unanswered == 2 }
      try await bed.send(2)
      try await bed.until("another partition has a place") {
        bed.lane.begun.contains(Self.place(2, 0))
      }
      #expect(bed.letters.unanswered == 2 && bed.letters.taken.isEmpty)
      #expect(await bed.pump.waitsFor.contains { $0.text.contains("no answer yet") })
      bed.letters.fail()
      try await bed.until("they are written") { bed.letters.taken.count == 2 }
      try await bed.until("they wait no longer") { await bed.pump.waitingLetters == 0 }
      #expect(await bed.pump.waitsFor.isEmpty)
      try await bed.until("their partitions go on") { bed.lane.begun.count == 4 }
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
      bed.lane.end(Self.place(0, 0), .deadLetter(Self.reason))
      try await bed.until("its partition is held") { await bed.pump.waitingLetters == 1 }
      bed.letters.refuse(false)
      try await bed.until("its letter is taken") { bed.lane.noted.count == 1 }
      await bed.pump.dispatchAll()
      #expect(await bed.pump.waitingLetters == 0)
      #expect(await bed.pump.running.count == 1)
      bed.lane.takeNotes()
      try await bed.until("its partition goes on") { bed.lane.begun.count == 2 }
      bed.lane.holdNotes()
      bed.lane.end(Self.place(0, 1), .deadLetter(Self.reason))
      try await bed.until("the second is taken too") { bed.lane.noted.count == 2 }
      #expect(try await bed.successor(of: 0) == 1)
    }
  }

  @Test func whatIsADeadLetterIsWrittenAndCommitted() async throws {
    try await PumpBed.run { bed in
      try await bed.send(0, 0)
      try await bed.pump.start()
      try await bed.until("both run") { bed.lane.begun.count == 2 }
      bed.lane.end(Self.place(0, 0), .deadLetter(Self.reason))
      try await bed.until("it has ended") { await bed.pump.running.count == 1 }
      #expect(bed.letters.taken.map(\.value) == [Array("0".utf8)])
      let codes = bed.letters.taken[0].headers.filter { $0.name == "fanfare-error-code" }
      #expect(codes.map { $0.value } == [Array(Self.reason.code.rawValue.utf8)])
      #expect(bed.lane.noted == [Self.place(0, 0)])
      #expect(await bed.pump.waitingLetters == 0)
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
        bed.lane.end(Self.place(partition, 0), .deadLetter(Self.reason))
      }
      try await bed.until("both are held") { await bed.pump.waitingLetters == 2 }
      let own = Self.place(0, 0)
      await bed.pump.shares(keeping: own.partition, givingUp: Self.place(1, 0).partition)
      let again = try #require(bed.lane.message(at: own))
      await bed.pump.handle(.message(again))
      try await bed.until("what stays comes again") { bed.lane.count(own) == 2 }
      // What is known of them is told at once, though this try has no answer yet.
      bed.letters.beSilent()
      bed.lane.end(own, .deadLetter(Self.reason))
      try await bed.until("it is tried") { bed.letters.unanswered == 1 }
      #expect(await bed.pump.waitsFor.count { $0.text.contains("the dead letters refuse") } == 1)
      #expect(await bed.pump.waitingLetters == 1)
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
        bed.lane.end(Self.place(partition, 0), .deadLetter(Self.reason))
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
      bed.lane.end(Self.place(1 - others, 0), .deadLetter(Self.reason))
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
      bed.lane.end(Self.place(0, 0), .deadLetter(Self.reason))
      try await bed.until("its partition is held") { await bed.pump.waitingLetters == 1 }
      let began = ContinuousClock.now
      #expect(await !bed.pump.drain(timeout: .seconds(120)))
      #expect(ContinuousClock.now - began < .seconds(60))
      #expect(try await bed.successor(of: 0) == 0)
    }
  }
}
