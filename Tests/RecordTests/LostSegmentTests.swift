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
      #expect(open.names == ["1.1", "1.2", "1.3", "1.4", "1.5"])
      #expect(open.stragglers == [list.id])
      #expect(open.count == 8 && open.published == 6 && open.generation == 1)
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
      #expect(open.missing == [0, 1, 3])
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
      #expect(first.count == 2 && first.end == nil)
      var status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .running && status.deadLettered == 2)
      let last = try await record.noteLost(["1.2", "1.3"], of: known(record), now: noon)
      #expect(last.count == 1, "the other was noted before")
      #expect(last.end?.contains { $0.name == "dead_lettered" && $0.count == 3 } == true)
      status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .incomplete && status.settled == 1 && status.accepted == 5)
      #expect(
        try await redis.ask("HGET", keyspace.event(id: "e1"), "dead_letter") == "1.3 retention")
      let again = try await record.noteLost(["1.1"], of: known(record), now: noon)
      #expect(again.count == 0 && again.end == nil)
      for segment in segments[1...] {
        _ = try await record.settle(segment, tally(accepted: 5), now: noon)
      }
      status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .done && status.deadLettered == 0 && status.accepted == 20)
    }
  }

  @Test func aLostPlanCountsWhatItWasToBring() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      try await open(record, 4, published: 1)
      _ = try await record.settle(segments("e1", 4)[0], tally(accepted: 5), now: noon)
      let figures = try await record.noteLost(["plan"], of: known(record), now: noon).end
      #expect(figures?.contains { $0.name == "dead_lettered" && $0.count == 3 } == true)
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
