import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Record

/// Events that wait for their time: what Redis holds of them, and who may open one.
@Suite struct ScheduleTests {
  private static let first = "notify-followers/0/7"
  private static let hour: Int64 = 3_600_000

  private func event(_ id: String, _ sendAt: SendTime) -> Event {
    Event(
      id: id, app: "com.example.live", streamer: "s1", stream: "b1", template: "go-live",
      occurredAt: noon, expiresAt: sendAt.due.upperBound + 900_000, sendAt: sendAt, fields: [:],
      document: Array("the event".utf8))
  }

  private func run(
    _ body: @escaping @Sendable (RecordStage, RedisClient, _ now: Int64) async throws -> Void
  ) async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      try await body(record, redis, try await record.time())
    }
  }

  private func open(
    _ record: RecordStage, _ event: Event, _ source: String, released: String? = nil,
    _ audience: Audience = sharded(2)
  ) async throws -> OpenResult {
    try await record.open(
      event: event, audience: audience, source: source, released: released,
      refusal: try await record.register(event), claim: nil, lifetime: .zero, now: noon
    ).result
  }

  private func schedule(
    _ record: RecordStage, _ event: Event, _ source: String = first, released: String? = nil
  ) async throws -> Int64? {
    guard let sendAt = event.sendAt,
      case .waits(let due) = try await record.schedule(
        event, sendAt, source: source, released: released, now: noon)
    else { return nil }
    try await record.enlist(event.id, due: due)
    return due
  }

  /// Redis' clock decides; a time that is past is at once.
  @Test func onlyAnEventThatIsNotDueWaits() async throws {
    try await run { record, redis, now in
      let later = self.event("e1", .at(now + Self.hour))
      #expect(try await self.schedule(record, later) == now + Self.hour)
      #expect(try await self.schedule(record, later) == now + Self.hour, "its record, read again")
      #expect(try await self.schedule(record, self.event("e2", .at(now - 1))) == nil)
      #expect(try await redis.ask("EXISTS", keyspace.event(id: "e2")) == "0")
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .scheduled && status.sendAt == .at(now + Self.hour))
      #expect(status.source == Self.first && status.startedAt == 0)
      #expect(try await redis.ask("GET", keyspace.document(event: "e1")) == "the event")
      let total = try await redis.table(keyspace.statsTotal)
      #expect(total["events"] == nil, "it has not begun")
      for key in [keyspace.event(id: "e1"), keyspace.document(event: "e1")] {
        let seconds = Int(try await redis.ask("TTL", key) ?? "") ?? 0
        #expect(seconds > Keyspace.longestScheduleSeconds, "\(key)")
      }
      #expect(try await record.scheduledFanOuts(atMost: 5).map(\.event) == ["e1"])
      #expect(try await record.latestFanOuts(atMost: 5).map(\.event) == ["e1"])
    }
  }

  /// Only a release opens it, and only when it is due.
  @Test func aReleaseOpensWhatIsDue() async throws {
    try await run { record, redis, now in
      let event = self.event("e1", .at(now + Self.hour))
      _ = try await self.schedule(record, event)
      #expect(
        try await self.schedule(record, event, "t/0/9", released: Self.first) == now + Self.hour)
      #expect(
        try await self.open(record, event, "t/0/9", released: Self.first)
          == .waits(now + Self.hour))
      #expect(
        try await redis.ask("HEXISTS", keyspace.streamer(id: "s1"), "event:e1") == "0",
        "it holds no other event back")
      _ = try await redis.ask(
        "HSET", keyspace.event(id: "e1"), "send_at_ms", String(now - 1))
      #expect(try await self.schedule(record, event) == now - 1, "its own record opens nothing")
      #expect(try await self.open(record, event, Self.first) == .waits(now - 1))
      #expect(try await self.schedule(record, event, "t/0/9", released: Self.first) == nil)
      #expect(try await self.open(record, event, "t/0/9", released: Self.first) == .new)
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .running && status.source == Self.first)
      #expect(status.startedAt == Int(noon) && status.segments == 2)
      let seconds = Int(try await redis.ask("TTL", keyspace.event(id: "e1")) ?? "") ?? .max
      #expect(seconds <= Keyspace.eventLifetimeSeconds)
    }
  }

  /// Two workers, or one that died behind its write: the second release goes on with the first.
  @Test func aSecondReleaseIsNoDuplicate() async throws {
    try await run { record, redis, now in
      let event = self.event("e1", .at(now + Self.hour))
      _ = try await self.schedule(record, event)
      _ = try await redis.ask("HSET", keyspace.event(id: "e1"), "send_at_ms", String(now - 1))
      #expect(try await self.open(record, event, "t/0/9", released: Self.first) == .new)
      #expect(
        try await self.open(record, event, "t/1/3", released: Self.first)
          == .resumed(plan: sharded(2), published: 0))
      for segment in sharded(2).segments(of: event) {
        _ = try await record.settle(segment, tally(accepted: 1), now: noon)
      }
      #expect(try await self.open(record, event, "t/1/3", released: Self.first) == .finished)
      #expect(try await self.open(record, event, Self.first) == .finished)
      #expect(try await self.open(record, event, "t/1/4") == .duplicate)
      let total = try await redis.table(keyspace.statsTotal)
      #expect(total["events"] == "1" && total["events_done"] == "1")
      #expect(total["events_duplicate"] == "1" && total["accepted"] == "2")
    }
  }

  /// Another event with its id does not begin, nor make it live shorter.
  @Test func anotherRecordOfTheIdIsADuplicate() async throws {
    try await run { record, redis, now in
      let event = self.event("e1", .at(now + Self.hour))
      _ = try await self.schedule(record, event)
      #expect(try await self.schedule(record, event, "t/0/8") == nil)
      #expect(try await self.open(record, event, "t/0/8") == .duplicate)
      #expect(
        try await record.expire(event: self.event("e1", .at(5)), source: "t/0/8", now: now)
          == .duplicate)
      #expect(try await record.status(of: "e1")?.state == .scheduled)
      let seconds = Int(try await redis.ask("TTL", keyspace.event(id: "e1")) ?? "") ?? 0
      #expect(seconds > Keyspace.longestScheduleSeconds)
    }
  }

  /// The race with a release is decided by the script that opens the event.
  @Test func aNewTimeHoldsForAReleaseUnderWay() async throws {
    try await run { record, redis, now in
      let event = self.event("e1", .at(now + Self.hour / 2))
      _ = try await self.schedule(record, event)
      let later = SendTime.at(now + Self.hour)
      #expect(try await record.reschedule("e1", to: later, ahead: .seconds(86_400)) == .done)
      #expect(
        try await self.open(record, event, "t/0/9", released: Self.first)
          == .waits(now + Self.hour))
      #expect(try await redis.ask("ZSCORE", keyspace.statsScheduled, "e1") == "\(now + Self.hour)")
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.sendAt == later)
      #expect(status.numbers["expires_ms"] == Int(now + Self.hour + 900_000), "as long as before")
      // It may be sent at once, and cannot be changed then.
      #expect(try await record.reschedule("e1", to: .at(now), ahead: .zero) == .done)
      #expect(try await self.open(record, event, "t/0/9", released: Self.first) == .new)
      #expect(
        try await record.reschedule("e1", to: later, ahead: .seconds(86_400)) == .begun("running"))
    }
  }

  @Test func whatMayBeRescheduled() async throws {
    try await run { record, redis, now in
      #expect(try await record.reschedule("e1", to: .at(now), ahead: .zero) == .unknown)
      _ = try await self.schedule(record, self.event("e1", .at(now + Self.hour)))
      let ahead = Duration.seconds(3_600)
      guard
        case .tooLate(let latest) = try await record.reschedule(
          "e1", to: .at(now + 2 * Self.hour), ahead: ahead)
      else {
        Issue.record("it is too far ahead")
        return
      }
      #expect(abs(latest - now - Self.hour) < 60_000)
      // However far ahead events may be sent, it does not wait for ever.
      let months = SendTime.at(now + 31 * 24 * Self.hour)
      guard
        case .tooLate = try await record.reschedule(
          "e1", to: months, ahead: .seconds(86_400 * 365))
      else {
        Issue.record("its keys would end before it")
        return
      }
      let local = SendTime.local(now + Self.hour)
      #expect(try await record.reschedule("e1", to: local, ahead: .seconds(86_400 * 2)) == .done)
      #expect(try await record.status(of: "e1")?.sendAt == local)
      #expect(try await record.reschedule("e1", to: .at(now + 5), ahead: ahead) == .done)
      #expect(try await record.status(of: "e1")?.sendAt == .at(now + 5))
      #expect(try await redis.ask("ZSCORE", keyspace.statsScheduled, "e1") == "\(now + 5)")
      // A past time sends it at once; it lives for 15 minutes.
      let hourAgo = SendTime.at(now - Self.hour)
      #expect(
        try await record.reschedule("e1", to: hourAgo, ahead: ahead)
          == .tooEarly(expiredAt: now - Self.hour + 900_000))
      #expect(try await record.status(of: "e1")?.sendAt == .at(now + 5), "nothing is changed")
      let minutesAgo = SendTime.at(now - 600_000)
      #expect(try await record.reschedule("e1", to: minutesAgo, ahead: ahead) == .done)
      _ = try await record.setHalt(.cancelled, of: "e1", reason: "", now: now)
      #expect(try await record.reschedule("e1", to: .at(now), ahead: .zero) == .cancelledBefore)
    }
  }

  /// It ends at once, and reaches nobody.
  @Test func aCancelledEventNeedNotWait() async throws {
    try await run { record, redis, now in
      let event = self.event("e1", .at(now + Self.hour))
      _ = try await self.schedule(record, event)
      #expect(try await record.setHalt(.cancelled, of: "e1", reason: "typo", now: now) == .done)
      #expect(try await redis.ask("ZSCORE", keyspace.statsScheduled, "e1") == "\(now)")
      let seconds = Int(try await redis.ask("TTL", keyspace.event(id: "e1")) ?? "") ?? 0
      #expect(seconds > Keyspace.longestScheduleSeconds)
      let opened = try await self.open(record, event, "t/0/9", released: Self.first)
      guard case .stopped("cancelled", _) = opened else {
        Issue.record("it is sent: \(opened)")
        return
      }
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .done && status.halt == .cancelled && status.haltReason == "typo")
      #expect(status.segments == 0)
      #expect(try await redis.ask("HGET", keyspace.statsTotal, "events_stopped") == "1")
      // Of one that was opened before nothing is hastened.
      #expect(
        try await open(record, unscheduled("e9"), "t/0/1", sharded(2)) == .new)
      #expect(try await record.setHalt(.cancelled, of: "e9", reason: "", now: now) == .done)
      #expect(try await redis.ask("ZSCORE", keyspace.statsScheduled, "e9") == nil)
    }
  }

  private func unscheduled(_ id: String) -> Event {
    Event(
      id: id, app: "com.example.live", streamer: "s9", stream: "b1", template: "go-live",
      occurredAt: noon, expiresAt: noon + 900_000, fields: [:], document: [])
  }

  /// It begins, and its segments are told.
  @Test func aPausedEventIsOpenedAndWaits() async throws {
    try await run { record, redis, now in
      let event = self.event("e1", .at(now + Self.hour))
      _ = try await self.schedule(record, event)
      #expect(try await record.setHalt(.paused, of: "e1", reason: "", now: now) == .done)
      #expect(
        try await self.open(record, event, "t/0/9", released: Self.first)
          == .waits(now + Self.hour))
      _ = try await redis.ask("HSET", keyspace.event(id: "e1"), "send_at_ms", String(now - 1))
      #expect(try await self.open(record, event, "t/0/9", released: Self.first) == .new)
      let segment = sharded(2).segments(of: event)[0]
      #expect(
        try await record.claim(
          Claim(segment: segment, owner: "a"), lifetime: .seconds(9), now: noon) == .paused)
    }
  }

  /// After an outage: not sent, and counted as every stale event.
  @Test func aReleaseThatIsTooLateExpires() async throws {
    try await run { record, redis, now in
      let event = self.event("e1", .at(now - Self.hour))
      _ = try await self.schedule(record, self.event("e1", .at(now + Self.hour)))
      // It was put off meanwhile.
      #expect(
        try await record.expire(event: event, source: "t/0/9", released: Self.first, now: now)
          == .waits(now + Self.hour))
      #expect(
        try await record.expire(event: event, source: Self.first, now: now)
          == .waits(now + Self.hour))
      _ = try await redis.ask(
        "HSET", keyspace.event(id: "e1"), "send_at_ms", String(now - Self.hour))
      #expect(
        try await record.expire(event: event, source: "t/0/9", released: Self.first, now: now)
          == .recorded)
      #expect(
        try await record.expire(event: event, source: "t/1/3", released: Self.first, now: now)
          == .alreadyRecorded)
      #expect(try await record.status(of: "e1")?.state == .expired)
      #expect(try await redis.ask("EXISTS", keyspace.document(event: "e1")) == "0")
      let total = try await redis.table(keyspace.statsTotal)
      #expect(total["events"] == "1" && total["events_expired"] == "1")
      #expect(total["events_duplicate"] == nil)
    }
  }

  /// Each is handed out once, and again when its worker has died.
  @Test func dueEventsAreHandedOut() async throws {
    try await run { record, redis, now in
      for (id, due) in [("e1", now - 5), ("e2", now - 9), ("e3", now + Self.hour)] {
        try await record.enlist(id, due: due)
      }
      let died = try await record.takeDue(atMost: 9, lease: .zero)
      #expect(died.map(\.event) == ["e2", "e1"])
      let taken = try await record.takeDue(atMost: 9, lease: .seconds(60))
      #expect(Set(taken.map(\.event)) == ["e1", "e2"])
      #expect(try await record.takeDue(atMost: 9, lease: .seconds(60)).isEmpty)
      // Whose lease is over returns nothing, and who has it returns it.
      try await record.giveBack(died[0], due: nil)
      #expect(try await redis.ask("ZCARD", keyspace.statsScheduled) == "3")
      let held = taken[0]
      try await record.giveBack(held, due: nil)
      #expect(try await redis.ask("ZSCORE", keyspace.statsScheduled, held.event) == nil)
      #expect(try await redis.ask("ZCARD", keyspace.statsScheduled) == "2")
    }
  }

  /// Somebody has moved it meanwhile.
  @Test func whatWasMovedIsNotGivenBack() async throws {
    try await run { record, redis, now in
      try await record.enlist("e1", due: now - 1)
      let taken = try #require(try await record.takeDue(atMost: 1, lease: .seconds(60)).first)
      try await record.enlist("e1", due: now + Self.hour)
      try await record.giveBack(taken, due: nil)
      #expect(try await redis.ask("ZSCORE", keyspace.statsScheduled, "e1") == "\(now + Self.hour)")
      try await record.giveBack(taken, due: 5)
      #expect(try await redis.ask("ZSCORE", keyspace.statsScheduled, "e1") == "\(now + Self.hour)")
    }
  }

  @Test func thereIsABound() async throws {
    try await run { record, redis, now in
      let pipeline = RedisPipeline()
      for number in 0..<Keyspace.maximumScheduled {
        pipeline.append(["ZADD", keyspace.statsScheduled, "\(now)", "x\(number)"])
      }
      #expect(try await record.isScheduleFull(for: "e1") == false)
      _ = try await redis.execute(pipeline)
      #expect(try await record.isScheduleFull(for: "e1"))
      #expect(try await record.isScheduleFull(for: "x7") == false, "it is among them")
    }
  }

  /// Waves are segments of one fan-out: each is counted once, and it ends with the last.
  @Test func wavesAreOneFanOut() async throws {
    try await run { record, redis, now in
      let event = self.event("e1", .local(now - 48 * Self.hour))
      let audience = sharded(2)
      #expect(try await self.open(record, event, Self.first, audience) == .new)
      let segments = audience.segments(of: event)
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.segments == segments.count && status.waves == LocalWaves.count)
      #expect(try await redis.ask("GET", keyspace.document(event: "e1")) == "the event")
      #expect(
        try await self.open(record, event, Self.first, audience)
          == .resumed(plan: sharded(2), published: 0))
      let open = try #require(
        try await record.openSegments(of: KnownFanOut(event: "e1", status: status)))
      #expect(open.count == segments.count && open.audience == audience)
      for segment in segments.dropLast() {
        _ = try await record.settle(segment, tally(accepted: 1), now: noon)
      }
      #expect(try await record.status(of: "e1")?.state == .running)
      _ = try await record.settle(segments[segments.count - 1], tally(accepted: 1), now: noon)
      let end = try #require(try await record.status(of: "e1"))
      #expect(end.state == .done && end.accepted == segments.count && end.isBalanced)
    }
  }
}
