import Keyspace
import Model
import Testing

@testable import Record

/// Records of a scheduled event that come again, and others with its id.
@Suite struct ScheduledRecordTests {
  private static let first = ScheduleHarness.first
  private static let second = ScheduleHarness.second
  private static let hour = ScheduleHarness.hour

  /// The worker drops it before it registers it with the streamer.
  @Test func aSecondRecordIsADuplicateAtOnce() async throws {
    try await ScheduleHarness.run { harness in
      let event = harness.event("e1", .at(harness.now + Self.hour))
      try await harness.schedule(event)
      #expect(try await harness.schedule(event, "t/0/8") == .duplicate)
      #expect(try await harness.schedule(event, "t/0/8") == .duplicate)
      #expect(
        try await harness.redis.ask("HGET", keyspace.statsTotal, "events_duplicate") == "1",
        "each record counts once")
      #expect(try await harness.status().state == .scheduled)
      #expect(try await harness.listed() == "\(harness.now + Self.hour)")
    }
  }

  /// One without `send_at` is registered before it is found out.
  @Test func aSecondRecordWithoutATimeUsesUpNoCooldown() async throws {
    try await ScheduleHarness.run(cooldown: .seconds(600)) { harness in
      let event = harness.event("e1", .at(harness.now + Self.hour))
      try await harness.schedule(event)
      #expect(try await harness.open(harness.event("e1", nil), "t/0/8") == .duplicate)
      #expect(try await harness.streamerKnows("event:e1") == false)
      let left = try await harness.redis.ask("TTL", keyspace.sums(id: "e1"))
      #expect(Int(left ?? "") ?? 0 > 0, "its sums do not stay for good")
      #expect(try await harness.open(harness.event("e2", nil), "t/0/9") == .new)
      // Now it is refused, and forgets that.
      #expect(try await harness.open(harness.event("e1", nil), "t/0/8") == .duplicate)
      #expect(try await harness.streamerKnows("refused:e1") == false)
    }
  }

  /// It was registered just before the event was released, and is told so just behind that.
  @Test func aSecondRecordTakesBackNothingOfARelease() async throws {
    try await ScheduleHarness.run(cooldown: .seconds(600)) { harness in
      let event = harness.event("e1", .at(harness.now + Self.hour))
      try await harness.schedule(event)
      try await harness.becomesDue()
      let second = harness.event("e1", nil)
      #expect(try await harness.record.register(second) == nil)
      #expect(try await harness.open(event, Self.second, released: Self.first) == .new)
      try await harness.record.takeBack(second, isOver: false)
      #expect(try await harness.streamerKnows("event:e1"), "the end of its stream stops it")
      #expect(try await harness.record.register(harness.event("e2", nil)) == "cooldown")
    }
  }

  @Test func aReleaseThatWasPutOffIsTakenBack() async throws {
    try await ScheduleHarness.run { harness in
      let due = harness.now + Self.hour
      let event = harness.event("e1", .at(due))
      try await harness.schedule(event)
      #expect(try await harness.open(event, Self.second, released: Self.first) == .waits(due))
      #expect(try await harness.streamerKnows("event:e1") == false)
      #expect(try await harness.streamerKnows("release:e1") == false)
    }
  }

  /// The first record says an older time than the one at which the event was sent.
  @Test func theTimeThatHoldsIsAnswered() async throws {
    try await ScheduleHarness.run { harness in
      let event = harness.event("e1", .at(harness.now + Self.hour))
      try await harness.schedule(event)
      let sooner = SendTime.at(harness.now - 5)
      #expect(try await harness.record.reschedule("e1", to: sooner, ahead: .zero) == .done)
      #expect(
        try await harness.schedule(event, Self.second, released: Self.first) == .due(sooner))
      #expect(try await harness.open(event, Self.second, released: Self.first) == .new)
      #expect(try await harness.schedule(event) == .due(sooner))
    }
  }

  @Test func anEventThatRedisDoesNotKnowHasItsOwnTime() async throws {
    try await ScheduleHarness.run { harness async throws in
      let event = harness.event("e1", .at(harness.now - 5))
      #expect(try await harness.schedule(event) == .due(nil))
    }
  }

  /// Redis failed behind the first cancellation.
  @Test func aSecondCancellationHastensTheEnd() async throws {
    try await ScheduleHarness.run { harness in
      let (record, now) = (harness.record, harness.now)
      try await harness.schedule(harness.event("e1", .at(now + Self.hour)))
      func cancel() async throws -> HaltResult {
        try await record.setHalt(.cancelled, of: "e1", reason: "", now: now)
      }
      #expect(try await cancel() == .done)
      try await record.enlist("e1", due: now + Self.hour)
      #expect(try await cancel() == .already)
      #expect(try await harness.listed() == "\(now)")
    }
  }

  /// Its record is read again: that must not put its end off.
  @Test func aCancelledEventIsListedAtOnce() async throws {
    try await ScheduleHarness.run { harness in
      let event = harness.event("e1", .at(harness.now + Self.hour))
      try await harness.schedule(event)
      _ = try await harness.record.setHalt(.cancelled, of: "e1", reason: "", now: harness.now)
      guard case .waits(let due) = try await harness.schedule(event) else {
        Issue.record("it does not wait")
        return
      }
      #expect(due < harness.now + Self.hour)
    }
  }

  /// A release says what the first record said.
  @Test func theTraceAndTheAppendAreKept() async throws {
    let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    try await ScheduleHarness.run { harness in
      let sendAt = SendTime.at(harness.now + Self.hour)
      try await harness.schedule(
        harness.event(
          "e1", sendAt, trace: TraceContext(traceparent: traceparent.utf8), appendedAt: 1_100))
      let status = try await harness.status()
      #expect(status.traceparent == traceparent && status.appendedAt == 1_100)
      try await harness.schedule(harness.event("e2", sendAt))
      let other = try await harness.status("e2")
      #expect(other.traceparent.isEmpty && other.appendedAt == 0)
    }
  }

  /// Of an event whose first waves were due when it was read, the others are released all the same.
  @Test func anEventWhoseFirstWavesWereDueHasItsTime() async throws {
    try await ScheduleHarness.run { harness in
      let sendAt = SendTime.local(harness.now + 14 * Self.hour - 60_000)
      let event = harness.event("e1", sendAt, appendedAt: 1_100)
      #expect(try await harness.schedule(event) == .due(nil))
      #expect(try await harness.open(event, Self.first) == .new)
      let status = try await harness.status()
      #expect(status.sendAt == sendAt && status.appendedAt == 1_100)
    }
  }
}
