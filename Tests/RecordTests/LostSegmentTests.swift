import Fixtures
import Keyspace
import Model
import Testing

@testable import Record

/// What Redis knows of segments whose records Kafka no longer has, and what it notes of them.
@Suite struct LostSegmentTests {
  private func known(_ record: RecordStage) async throws -> KnownFanOut {
    let status = try #require(try await record.status(of: "e1"))
    return KnownFanOut(event: "e1", status: status)
  }

  private func open(_ record: RecordStage, _ count: Int, published: Int) async throws {
    _ = try await record.open(
      event: event("e1"), audience: sharded(count), source: "t/0/1", now: noon)
    try await record.published(published, of: event("e1"), now: noon)
  }

  /// Who has claimed a segment may be dead, and its record gone.
  @Test func whatIsSettledIsNotMissingAndWhatIsClaimedMayBe() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let segments = segments("e1", 8)
      try await open(record, 8, published: 6)
      let list = PlannedStragglers(
        segments[0].straggling(
          [Straggler(user: "u1", member: member("aa"), history: PushHistory())], number: 7))
      _ = try await record.settle(
        segments[0], tally(accepted: 1), stragglers: [list], now: noon)
      _ = try await record.claim(
        Claim(segment: segments[2], owner: "a"), lifetime: .seconds(60))
      let open = try #require(try await record.openSegments(of: known(record)))
      #expect(open.missing == [1, 2, 3, 4, 5])
      #expect(open.stragglers == [list.id])
      #expect(open.names == [list.id] + (1..<8).map { "1.\($0)" })
      #expect(open.count == 8 && open.published == 6 && open.audience == sharded(8))
      #expect(open.document == [])
    }
  }

  /// Nobody plans it again, and nobody calls it lost.
  @Test func whatIsInTheDeadLettersIsNotMissing() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      try await open(record, 4, published: 4)
      let part = DeadPart.segment(segments("e1", 4)[2])
      _ = try await record.noteDeadLetter(
        of: part, event("e1"), code: "unprocessable", source: "t/0/1", now: noon)
      let open = try #require(try await record.openSegments(of: known(record)))
      #expect(open.missing == [0, 1, 3] && open.names == ["1.0", "1.1", "1.3"])
    }
  }

  /// Whoever comes first plans the segments again, and nobody does for a minute.
  @Test func aFanOutIsRecoveredOnceAMinute() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let key = keyspace.recovery(id: "e1")
      func turn(_ owner: String, _ age: Duration, event: String = "e1") async throws
        -> RecoveryTurn
      {
        try await record.beginRecovery(of: event, owner: owner, age: age)
      }
      #expect(try await turn("a/1", .seconds(2)) == .now)
      #expect(try await turn("a/1", .seconds(2)) == .now, "the answer was lost")
      #expect(try await turn("b/1", .seconds(120)) == .covered, "lost before that recovery")
      #expect(try await turn("b/1", .seconds(2), event: "e2") == .now)
      let begun = Int64((try await redis.ask("GET", key) ?? "").prefix { $0 != " " }) ?? 0
      // Twenty seconds later, records are lost that were written by the first.
      _ = try await redis.ask("SET", key, "\(begun - 20_000) a/1")
      guard case .later(let delay) = try await turn("b/1", .seconds(3)) else {
        Issue.record("it is not the time yet")
        return
      }
      #expect(delay <= .seconds(40) && delay > .zero)
      _ = try await redis.ask("SET", key, "\(begun - 60_000) a/1")
      #expect(try await turn("b/1", .seconds(43)) == .now)
      // Redis' clock was set back.
      _ = try await redis.ask("SET", key, "\(begun + 3_600_000) a/1")
      #expect(try await turn("c/1", .seconds(2)) == .now)
      let left = Int(try await redis.ask("TTL", key) ?? "") ?? 0
      #expect(left > 0 && left <= Keyspace.receiptLifetimeSeconds)
    }
  }

  /// It may be settled all the same: then it was there.
  @Test func aFanOutEndsWithoutWhatIsLost() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let segments = segments("e1", 4)
      try await open(record, 4, published: 4)
      _ = try await record.settle(segments[0], tally(accepted: 5), now: noon)
      let first = try await record.noteLost(["1.0", "1.1", "1.2"], of: known(record), now: noon)
      #expect(first == nil)
      var status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .running && status.deadLettered == 2)
      let last = try await record.noteLost(["1.2", "1.3"], of: known(record), now: noon)
      #expect(last?.contains { $0.name == "dead_lettered" && $0.count == 3 } == true)
      status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .incomplete && status.settled == 1 && status.accepted == 5)
      #expect(
        try await redis.ask("HGET", keyspace.event(id: "e1"), "dead_letter") == "1.3 lost")
      #expect(try await record.noteLost(["1.1"], of: known(record), now: noon) == nil)
      for segment in segments[1...] {
        _ = try await record.settle(segment, tally(accepted: 5), now: noon)
      }
      status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .done && status.deadLettered == 0 && status.accepted == 20)
    }
  }

  /// The event's record, or that of a plan, was lost: `names` says all that it was to bring.
  @Test(arguments: [(1, 0, 3), (0, 0, 4), (4, 0, 3), (0, 4, 3)])
  func whatWasNeverPublishedIsLostToo(published: Int, dead: Int, missing: Int) async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      try await open(record, 4, published: published)
      if published > 0 {
        _ = try await record.settle(segments("e1", 4)[0], tally(accepted: 5), now: noon)
      }
      if dead > 0 {
        // Its letter has ended the fan-out already.
        _ = try await record.noteDeadLetter(
          of: .event, event("e1"), code: "unprocessable", source: "t/0/1", now: noon)
      }
      let open = try #require(try await record.openSegments(of: known(record)))
      guard dead == 0 else { return #expect(open.names == []) }
      #expect(open.names == (published == 0 ? ["event"] : ["1.1", "1.2", "1.3"]))
      let figures = try await record.noteLost(open.names, of: known(record), now: noon)
      #expect(figures?.contains { $0.name == "dead_lettered" && $0.count == missing } == true)
    }
  }

  /// Somebody works on it; nobody does, and it waits for its turn; nobody has for long.
  @Test func onlyWhatNobodyHasWorkedOnForLongIsOverdue() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let key = keyspace.event(id: "e1")
      try await open(record, 4, published: 4)
      try await record.handOver("e1", now: noon)
      func overdue(_ wait: Duration) async throws -> [String] {
        try await record.overdueFanOuts(after: wait, lookedAtEvery: .seconds(60)).map(\.event)
      }
      let now = try await record.time()
      _ = try await redis.ask("HSET", key, "expires_ms", "\(now + 60_000)")
      #expect(try await overdue(.zero) == [], "by Redis' clock the event is not over")
      _ = try await redis.ask("HSET", key, "expires_ms", "\(now - 60_000)")
      let claim = Claim(segment: segments("e1", 4)[1], owner: "a")
      _ = try await record.claim(claim, lifetime: .seconds(60))
      #expect(try await overdue(.zero) == [])
      #expect(try await redis.ask("HGET", key, "overdue") == nil)
      _ = try await redis.ask("HSET", keyspace.claims(id: "e1"), "1.1", "dead 77")
      #expect(try await overdue(.seconds(60)) == [])
      #expect(try await redis.ask("HGET", key, "overdue")?.hasSuffix(" 0") == true)
      #expect(try await overdue(.zero) == ["e1"])
      _ = try await redis.ask("HSET", key, "state", "incomplete")
      #expect(try await overdue(.zero) == [])
    }
  }

  /// Who stops in the middle of a segment leaves its name.
  @Test func whoClaimsWhatAnotherGaveUpIsToldOfIt() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let segment = segments("e1", 1)[0]
      let (first, second) = (
        Claim(segment: segment, owner: "a"), Claim(segment: segment, owner: "b")
      )
      _ = try await record.claim(first, lifetime: .seconds(60))
      try await record.release(first, hasSent: false)
      #expect(try await record.claim(second, lifetime: .seconds(60)).takenFrom == nil)
      try await record.release(second, hasSent: true)
      #expect(
        try await record.claim(first, lifetime: .seconds(60)).takenFrom
          == FormerOwner(name: "b", hasReleased: true))
      try await record.release(second, hasSent: true)
      guard case .claimed = try await record.claim(second, lifetime: .seconds(60)) else {
        Issue.record("it was another's to release")
        return
      }
    }
  }
}
