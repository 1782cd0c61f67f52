import Keyspace
import Model
import Testing

@testable import Record

/// Dead letters of scheduled events: what is noted of them, and what a replay does.
@Suite struct ScheduledLetterTests {
  private static let first = ScheduleHarness.first
  private static let second = ScheduleHarness.second
  private static let hour = ScheduleHarness.hour

  /// Workers look at it again when it expires, so that it comes to its end.
  @Test func aReleaseInTheDeadLettersIsNoted() async throws {
    try await ScheduleHarness.run { harness in
      let event = harness.event("e1", .at(harness.now + Self.hour))
      try await harness.schedule(event)
      try await harness.becomesDue()
      try await harness.noteDeadLetter(event, Self.second, released: Self.first)
      let status = try await harness.status()
      #expect(status.state == .scheduled && status.releaseDeadLetter == "unknown_template")
      #expect(
        try await harness.listed() == "\(event.expiresAt + RecordStage.clockMargin)")
      #expect(
        try await harness.open(
          event, "t/0/11", released: Self.first, replayed: Self.second) == .new)
      #expect(try await harness.status().releaseDeadLetter.isEmpty)
    }
  }

  @Test func aNewTimeClearsTheNote() async throws {
    try await ScheduleHarness.run { harness in
      let event = harness.event("e1", .at(harness.now + Self.hour))
      try await harness.schedule(event)
      try await harness.becomesDue()
      try await harness.noteDeadLetter(event, Self.second, released: Self.first)
      let later = harness.now + 2 * Self.hour
      #expect(
        try await harness.record.reschedule("e1", to: .at(later), ahead: .seconds(86_400))
          == .done)
      #expect(try await harness.status().releaseDeadLetter.isEmpty)
      #expect(try await harness.listed() == "\(later)")
    }
  }

  /// Redis has the event, and sends it at its time, whatever becomes of other records.
  @Test func otherRecordsOfItChangeNothing() async throws {
    try await ScheduleHarness.run { harness in
      let event = harness.event("e1", .at(harness.now + Self.hour))
      try await harness.schedule(event)
      // Its own, read again by a worker without the template; one that was put off meanwhile; and a
      // release of an older event of that id.
      try await harness.noteDeadLetter(event, Self.first)
      try await harness.noteDeadLetter(event, Self.second, released: Self.first)
      try await harness.becomesDue()
      try await harness.noteDeadLetter(event, Self.second, released: "t/5/5")
      #expect(try await harness.status().releaseDeadLetter.isEmpty)
      #expect(try await harness.listed() == "\(harness.now + Self.hour)")
    }
  }

  /// The next wave brings what this one did not.
  @Test func theNextWaveFollowsADeadOne() async throws {
    try await ScheduleHarness.run { harness in
      let local = harness.now + 14 * Self.hour - 60_000
      let event = harness.event("e1", .local(local))
      #expect(try await harness.open(event, Self.first) == .new)
      try await harness.noteDeadLetter(event, Self.second, released: Self.first)
      let status = try await harness.status()
      #expect(status.state == .running && status.releaseDeadLetter == "unknown_template")
      #expect(status.deadLettered == 0)
      #expect(try await harness.listed() == "\(LocalWaves.due(1, local: local))")
      #expect(
        try await harness.open(event, "t/0/11", released: Self.first)
          == .resumed(plan: sharded(2), published: 0))
      #expect(try await harness.status().releaseDeadLetter.isEmpty)
    }
  }

  /// Somebody reschedules the event while its dead letter is noted.
  @Test func aNewTimeStandsBehindANote() async throws {
    try await ScheduleHarness.run { harness in
      try await harness.schedule(harness.event("e1", .at(harness.now + Self.hour)))
      try await harness.record.enlist("e1", again: harness.now + 5, after: harness.now - 1)
      #expect(try await harness.listed() == "\(harness.now + Self.hour)")
    }
  }

  // MARK: the event's own dead letter, sent in again

  @Test func beforeItsTimeAReplayWaits() async throws {
    try await ScheduleHarness.run { harness in
      let due = harness.now + Self.hour
      let event = harness.event("e1", .at(due))
      try await harness.schedule(event)
      let corrected = harness.event("e1", .at(due), document: "corrected")
      #expect(
        try await harness.schedule(corrected, Self.second, replayed: Self.first) == .waits(due))
      #expect(
        try await harness.open(corrected, Self.second, replayed: Self.first) == .waits(due))
      #expect(
        try await harness.redis.ask("GET", keyspace.document(event: "e1")) == "corrected")
      #expect(try await harness.status().state == .scheduled)
    }
  }

  /// The event was put off behind a release that is in the dead letters.
  @Test func aCorrectedReleaseWaitsToo() async throws {
    try await ScheduleHarness.run { harness in
      let due = harness.now + Self.hour
      try await harness.schedule(harness.event("e1", .at(due)))
      func document(after source: String, _ text: String, replayed: String?) async throws
        -> String?
      {
        #expect(
          try await harness.schedule(
            harness.event("e1", .at(due), document: text), source, released: Self.first,
            replayed: replayed) == .waits(due))
        return try await harness.redis.ask("GET", keyspace.document(event: "e1"))
      }
      #expect(
        try await document(after: Self.second, "released", replayed: nil) == "the event",
        "a release brings nothing that Redis has not")
      #expect(
        try await document(after: "t/0/11", "corrected", replayed: Self.second) == "corrected")
    }
  }

  @Test func afterItsTimeAReplayOpensIt() async throws {
    try await ScheduleHarness.run { harness in
      let event = harness.event("e1", .at(harness.now + Self.hour))
      try await harness.schedule(event)
      try await harness.becomesDue()
      #expect(
        try await harness.schedule(event, Self.second, replayed: Self.first)
          == .due(.at(harness.now - 1)))
      #expect(try await harness.open(event, Self.second, replayed: Self.first) == .new)
      let status = try await harness.status()
      #expect(status.state == .running && status.startedAt == Int(harness.now))
      #expect(
        try await harness.open(event, "t/0/11", released: Self.first) == .duplicate,
        "its release, which comes all the same")
    }
  }

  /// The replay has opened the event and become a dead letter itself.
  @Test func aReplayOfAReplayGoesOn() async throws {
    try await ScheduleHarness.run { harness in
      let event = harness.event("e1", .at(harness.now + Self.hour))
      try await harness.schedule(event)
      try await harness.becomesDue()
      #expect(try await harness.open(event, Self.second, replayed: Self.first) == .new)
      let figures = try await harness.record.noteDeadLetter(
        of: .event, event, code: "unprocessable", source: Self.second, now: harness.now)
      #expect(figures != nil, "it says that nothing more comes")
      #expect(
        try await harness.open(event, "t/0/11", replayed: Self.second)
          == .resumed(plan: sharded(2), published: 0))
    }
  }

  @Test func afterItsExpiryAReplayExpires() async throws {
    try await ScheduleHarness.run { harness in
      let event = harness.event("e1", .at(harness.now - Self.hour))
      try await harness.schedule(harness.event("e1", .at(harness.now + Self.hour)))
      try await harness.becomesDue()
      #expect(
        try await harness.record.expire(
          event: event, source: Self.second, replayed: Self.first, now: harness.now) == .recorded)
      #expect(try await harness.status().state == .expired)
      #expect(try await harness.redis.ask("EXISTS", keyspace.document(event: "e1")) == "0")
    }
  }
}
