import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Record

/// What stops a fan-out: nothing, a pause, a cancellation, its end; and what is asked of it.
@Suite struct HaltTests {
  private enum Found: String, CaseIterable {
    case nothing, paused, cancelled, incomplete, done, expired, unknown
  }

  private func prepare(_ found: Found, _ redis: RedisClient) async throws {
    let key = keyspace.event(id: "e1")
    _ = try await redis.ask("DEL", key)
    guard found != .unknown else { return }
    let state = [.done, .expired, .incomplete].contains(found) ? found.rawValue : "running"
    _ = try await redis.ask("HSET", key, "state", state, "streamer", "s1")
    if found == .paused || found == .cancelled {
      _ = try await redis.ask("HSET", key, "brake", found.rawValue)
    }
  }

  /// Every state and every order.
  @Test func everyOrderInEveryState() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let orders: [Halt?] = [nil, .paused, .cancelled]
      let expected: [Found: [HaltResult]] = [
        .nothing: [.already, .done, .done],
        .paused: [.done, .already, .done],
        .cancelled: [.cancelledBefore, .cancelledBefore, .already],
        // A segment may come back from the dead letters.
        .incomplete: [.already, .done, .done],
        .done: [.already, .ended("done"), .ended("done")],
        .expired: [.already, .ended("expired"), .ended("expired")],
        .unknown: [.unknown, .unknown, .unknown],
      ]
      for found in Found.allCases {
        for (index, order) in orders.enumerated() {
          try await prepare(found, redis)
          let result = try await record.setHalt(order, of: "e1", reason: "title", now: noon)
          #expect(result == expected[found]?[index], "\(found), \(String(describing: order))")
          let after = try await record.halts(of: ["e1"])["e1"] ?? nil
          switch result {
          case .done, .already: #expect(after == order, "\(found)")
          case .cancelledBefore: #expect(after == .cancelled)
          case .ended, .unknown: #expect(after == nil)
          }
        }
      }
    }
  }

  /// It must not let go on what somebody has stopped.
  @Test func anErrorIsNoAnswer() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      try await prepare(.paused, redis)
      _ = try await redis.ask("SET", keyspace.event(id: "e2"), "no hash")
      let halts = try await record.halts(of: ["e1", "e2"])
      #expect(halts == ["e1": .paused], "of the other nothing is known")
    }
  }

  @Test func theHashSaysWhyAndSince() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      try await prepare(.nothing, redis)
      _ = try await record.setHalt(.paused, of: "e1", reason: "wrong title", now: noon)
      let status = try await record.status(of: "e1")
      #expect(status?.halt == .paused && status?.haltReason == "wrong title")
      #expect(status?.numbers["brake_ms"] == Int(noon))
      _ = try await record.setHalt(nil, of: "e1", reason: "", now: noon)
      let fields = try await redis.ask("HLEN", keyspace.event(id: "e1"))
      #expect(fields == "2", "nothing is left of it")
    }
  }

  /// Paused while the last pushes had their answers: nothing stops what has ended.
  @Test func whatHasEndedIsNotPaused() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      try await prepare(.nothing, redis)
      for (state, halt, found) in [
        ("done", Halt.paused, nil), ("expired", .paused, nil),
        ("done", .cancelled, Halt.cancelled), ("incomplete", .paused, .paused),
      ] {
        _ = try await redis.ask(
          "HSET", keyspace.event(id: "e1"), "state", state, "brake", halt.rawValue, "brake_why",
          "why")
        let status = try await record.status(of: "e1")
        #expect(status?.halt == found && status?.haltReason == (found == nil ? "" : "why"))
      }
    }
  }

  @Test func whoClaimsIsTold() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let segments = segments("e1", 4)
      func claim(_ index: Int, now: Int64 = noon) async throws -> ClaimResult {
        try await record.claim(
          Claim(segment: segments[index], owner: "a"), lifetime: .seconds(60), now: now)
      }
      try await prepare(.paused, redis)
      #expect(try await claim(0) == .paused)
      #expect(try await redis.ask("EXISTS", keyspace.claims(id: "e1")) == "0")
      // Nothing of it is sent any more; its pushes get their outcomes.
      guard case .yours(_, isCancelled: false, _) = try await claim(0, now: noon + 900_000) else {
        Issue.record("an expired event stays paused")
        return
      }
      try await prepare(.cancelled, redis)
      guard case .yours(_, isCancelled: true, _) = try await claim(1) else {
        Issue.record("a cancelled fan-out is not said to be")
        return
      }
      try await prepare(.nothing, redis)
      guard case .yours(_, isCancelled: false, _) = try await claim(2) else {
        Issue.record("a segment is stopped by nobody")
        return
      }
    }
  }

  /// The only segment of an event is claimed when that is opened, also when it is read again.
  @Test func whoOpensIsTold() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let audience = sharded(1)
      func open() async throws -> ClaimResult? {
        try await record.open(
          event: event("e1"), audience: audience, source: "t/0/1",
          claim: Claim(segment: audience.segments(of: event("e1"))[0], owner: "a"),
          lifetime: .seconds(60), now: noon
        ).claim
      }
      guard case .yours(_, isCancelled: false, _)? = try await open() else {
        Issue.record("a new event is stopped")
        return
      }
      _ = try await record.setHalt(.paused, of: "e1", reason: "", now: noon)
      #expect(try await open() == .paused)
      _ = try await record.setHalt(.cancelled, of: "e1", reason: "", now: noon)
      guard case .yours(_, isCancelled: true, _)? = try await open() else {
        Issue.record("a cancelled event is not said to be")
        return
      }
    }
  }

  @Test func theLastFanOutsAreKnown() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      #expect(try await record.recentFanOuts(atMost: 5).isEmpty)
      for id in ["e1", "e2", "e3", "e4"] {
        _ = try await record.open(
          event: event(id), audience: sharded(2), source: "t/0/\(id)", now: noon)
        try await record.handOver(id, now: noon)
      }
      // Read again, it did not begin again.
      _ = try await record.open(
        event: event("e2"), audience: sharded(2), source: "t/0/e2", now: noon)
      try await record.handOver("e2", now: noon)
      _ = try await redis.ask("DEL", keyspace.event(id: "e3"))
      #expect(try await record.recentFanOuts(atMost: 5).map(\.event) == ["e4", "e2", "e1"])
      let first = try await record.recentFanOuts(atMost: 1)
      #expect(first.map(\.event) == ["e4"] && first[0].status.segments == 2)
    }
  }
}
