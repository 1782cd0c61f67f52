import Keyspace
import LocalStack
import Model
import Testing

@testable import Record

@Suite struct OpeningTests {
  @Test func tellsNewResumedDuplicateAndFinishedApart() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let first = "notify-followers/0/7"
      func open(_ source: String) async throws -> Opening {
        try await record.open(event: event("e1"), audience: sharded(2), source: source, now: noon)
      }
      #expect(try await open(first) == .new)
      #expect(try await open(first) == .resumed(plan: sharded(2), published: 0))
      #expect(try await open("notify-followers/0/8") == .duplicate)
      for segment in segments("e1", 2) {
        _ = try await record.settle(segment, tally(accepted: 1), now: noon)
      }
      #expect(try await open(first) == .finished)
      // The same again counts once: the answer may have been lost.
      #expect(try await open("notify-followers/0/8") == .duplicate)
      #expect(try await open("notify-followers/0/9") == .duplicate)
      let total = try await redis.table(keyspace.statsTotal)
      #expect(total["events"] == "1")
      #expect(total["events_duplicate"] == "2")
      #expect(total["events_done"] == "1")
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .done)
      #expect(status.source == first)
      #expect(status.startedAt == Int(noon))
      #expect(try await record.status(of: "unknown") == nil)
    }
  }

  @Test func aResumedEventKeepsThePlanItWasOpenedWith() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      for (id, audience) in [("e1", sharded(4, generation: 3)), ("e2", .plain(key: "f:s1:x"))] {
        _ = try await record.open(event: event(id), audience: audience, source: "t/0/1", now: noon)
        let again = try await record.open(
          event: event(id), audience: sharded(8, generation: 4), source: "t/0/1", now: noon)
        #expect(again == .resumed(plan: audience, published: 0))
      }
    }
  }

  /// One call opens the event and claims its only segment, as two would.
  @Test func theOnlySegmentIsClaimedWithIt() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let segment = segments("e1", 1)[0]
      func open(
        _ owner: String, _ audience: Audience = sharded(1)
      ) async throws -> (opening: Opening, claim: ClaimResult?) {
        try await record.open(
          event: event("e1"), audience: audience, source: "t/0/1",
          claim: Claim(segment: audience.segments(of: event("e1"))[0], owner: owner),
          lifetime: .seconds(60), now: noon)
      }
      guard case (.new, .yours(let time, _)?) = try await open("a") else {
        Issue.record("a new event's segment was refused")
        return
      }
      #expect(time > 1_700_000_000_000)
      let held = try await redis.table(keyspace.claims(id: "e1"))
      #expect(held.count == 1 && held[segment.id]?.hasPrefix("a ") == true)
      // The reply was lost.
      guard case (.resumed, .yours?) = try await open("a") else {
        Issue.record("its own claim was refused")
        return
      }
      guard case (.resumed, .claimed(let rest)?) = try await open("b") else {
        Issue.record("two runs have it")
        return
      }
      #expect(rest > 50_000 && rest <= 60_000)
      // Its followers were divided meanwhile: its segments are those of the plan.
      let other = try await open("c", sharded(1, generation: 9))
      #expect(other.opening == .resumed(plan: sharded(1), published: 0) && other.claim == nil)
      #expect(try await redis.table(keyspace.claims(id: "e1")).count == 1)
      _ = try await record.settle(segment, tally(accepted: 1), now: noon)
      let done = try await open("a")
      #expect(done.opening == .finished && done.claim == nil)
    }
  }

  @Test func aRecordThatReplaysTheFirstOneGoesOn() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      func open(_ source: String, replayed: String?) async throws -> Opening {
        try await record.open(
          event: event("e1"), audience: sharded(2), source: source, replayed: replayed, now: noon)
      }
      #expect(try await open("t/0/1", replayed: nil) == .new)
      #expect(try await open("t/0/2", replayed: "t/0/9") == .duplicate)
      #expect(
        try await open("t/0/3", replayed: "t/0/1") == .resumed(plan: sharded(2), published: 0))
      // From then on it is the event's record, and the first one is a repetition.
      #expect(try await open("t/0/3", replayed: nil) == .resumed(plan: sharded(2), published: 0))
      #expect(try await open("t/0/1", replayed: nil) == .duplicate)
      #expect(try await record.status(of: "e1")?.source == "t/0/3")
      #expect(try await redis.table(keyspace.statsTotal)["events"] == "1")
    }
  }

  /// Redis' clock decides: this worker's is ahead of it.
  @Test func anEventThatIsYoungByRedisClockIsNotExpired() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let expiry: Int64 = 4_102_444_800_000  // 2100-01-01
      let young = Event(
        id: "e1", app: "a.b", streamer: "s1", stream: "b1", template: "go-live",
        occurredAt: noon, expiresAt: expiry, fields: [:], document: [])
      do {
        _ = try await record.expire(event: young, source: "t/0/1", now: expiry + 60_000)
        Issue.record("expired")
      } catch let error as RecordError {
        #expect(error.code == .clocksDisagree && error.isTransient)
        #expect(error.message.contains("ahead of Redis'"))
      }
      #expect(try await record.status(of: "e1") == nil)
      #expect(try await redis.table(keyspace.statsTotal) == [:])
    }
  }

  @Test func anEventWithoutFollowersIsDoneAtOnce() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      func open() async throws -> Opening {
        try await record.open(event: event("e1"), audience: .none, source: "t/0/1", now: noon)
      }
      guard case .empty(let figures) = try await open() else {
        Issue.record("it is not done")
        return
      }
      #expect(figures.first?.name == "recipients" && figures.allSatisfy { $0.count == 0 })
      #expect(try await record.status(of: "e1")?.state == .done)
      #expect(try await open() == .finished)
      #expect(try await redis.ask("XLEN", keyspace.statsEvents) == "1")
    }
  }

  @Test func aStaleEventSettlesAsExpiredOnce() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      func expire(_ source: String) async throws -> Expiry {
        try await record.expire(event: event("e1"), source: source, now: noon)
      }
      #expect(try await expire("t/0/1") == .recorded)
      #expect(try await expire("t/0/1") == .alreadyRecorded)
      #expect(try await expire("t/0/2") == .duplicate)
      #expect(try await expire("t/0/2") == .duplicate)
      let opening = try await record.open(
        event: event("e1"), audience: sharded(1), source: "t/0/1", now: noon)
      #expect(opening == .finished)
      #expect(try await record.status(of: "e1")?.state == .expired)
      let total = try await redis.table(keyspace.statsTotal)
      #expect(total["events_expired"] == "1")
      #expect(total["events_duplicate"] == "1")
      #expect(try await redis.ask("XLEN", keyspace.statsEvents) == "1")
    }
  }

  /// Whoever reads it again goes on, and its segments say that their pushes have expired.
  @Test func aRunningEventThatExpiresStillCountsItsSegments() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      _ = try await record.open(
        event: event("e1"), audience: sharded(1), source: "t/0/1", now: noon)
      #expect(try await record.expire(event: event("e1"), source: "t/0/1", now: noon) == .begun)
      #expect(
        try await record.expire(event: event("e1"), source: "t/0/2", now: noon) == .duplicate)
      #expect(try await record.status(of: "e1")?.state == .running)
      let late = tally(accepted: 0)
      late.pushes = 3
      late.count(.expired, times: 3)
      _ = try await record.settle(segments("e1", 1)[0], late, now: noon)
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .done && status.expired == 3 && status.settled == 1)
      #expect(
        try await record.expire(event: event("e1"), source: "t/0/1", now: noon)
          == .alreadyRecorded)
      #expect(try await redis.ask("XLEN", keyspace.statsEvents) == "1")
    }
  }

  @Test func keysHaveTheirLifetimes() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      _ = try await record.open(
        event: event("e1"), audience: sharded(2), source: "t/0/1", now: noon)
      _ = try await redis.ask("PERSIST", keyspace.event(id: "e1"))
      _ = try await record.settle(segments("e1", 2)[0], tally(accepted: 1), now: noon)
      let wanted = [
        (keyspace.event(id: "e1"), Keyspace.eventLifetimeSeconds),
        (keyspace.settled(id: "e1"), Keyspace.eventLifetimeSeconds),
        (keyspace.statsDay(milliseconds: noon), Keyspace.dayLifetimeSeconds),
        (keyspace.statsMinute(milliseconds: noon), Keyspace.minuteLifetimeSeconds),
      ]
      for (key, seconds) in wanted {
        let left = Int(try await redis.ask("TTL", key) ?? "") ?? 0
        #expect(left > seconds - 60 && left <= seconds, "\(key) lives \(left) s")
      }
      #expect(try await redis.ask("TTL", keyspace.statsTotal) == "-1")
    }
  }

  @Test func aPlanIsReadAsItWasWritten() {
    #expect(Plan.audience("generation:5", segments: "64") == sharded(64, generation: 5))
    #expect(Plan.audience("plain:a:b", segments: "1") == .plain(key: "a:b"))
    #expect(Plan.audience("none", segments: "0") == Audience.none)
    for (plan, segments) in [
      ("generation:5", "3"), ("generation:5", "131072"), ("generation:x", "2"), ("", "1"),
      ("plain:", "1"), ("plain:a", "2"), ("none", "1"), ("other:1", "1"), ("generation:-1", "1"),
    ] {
      #expect(Plan.audience(plan, segments: segments) == nil, "\(plan) \(segments)")
    }
  }
}
