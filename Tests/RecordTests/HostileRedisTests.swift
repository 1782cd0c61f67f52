import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Record

/// Redis holds what none of us wrote.
@Suite struct HostileRedisTests {
  @Test func anotherTypeAtTheKeysOfTheEventIsAnErrorThatNamesTheKey() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let segment = segments("e1", 1)[0]
      for key in [keyspace.event(id: "e1"), keyspace.settled(id: "e1")] {
        _ = try await redis.ask("FLUSHALL")
        _ = try await redis.ask("SET", key, "something else")
        for attempt in 0..<3 {
          do {
            switch attempt {
            case 0:
              _ = try await record.open(
                event: event("e1"), audience: sharded(1), source: "t/0/1", now: noon)
            case 1: _ = try await record.expire(event: event("e1"), source: "t/0/1", now: noon)
            default: _ = try await record.settle(segment, tally(accepted: 1), now: noon)
            }
            Issue.record("\(key) was taken in attempt \(attempt)")
          } catch let error as RecordError {
            #expect(error.code == .redis(.wrongType) && !error.isTransient)
            #expect(error.description.contains(key))
          }
        }
        #expect(try await redis.ask("DBSIZE") == "1", "something was written all the same")
      }
    }
  }

  @Test func brokenCountersDoNotHoldUpASegment() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let minute = keyspace.statsMinute(milliseconds: noon)
      _ = try await redis.ask("HSET", keyspace.statsTotal, "accepted", "9223372036854775807")
      _ = try await redis.ask("HSET", keyspace.statsTotal, "pushes", "many")
      _ = try await redis.ask("SET", minute, "no hash")
      _ = try await redis.ask("LPUSH", keyspace.statsEvents, "no stream")
      let settlement = try await record.settle(
        segments("e1", 1)[0], tally(accepted: 5), now: noon)
      guard case .recorded(let settled) = settlement else {
        Issue.record("not recorded: \(settlement)")
        return
      }
      #expect(settled.fanOutDone && settled.recordErrors == 8)
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.accepted == 5 && status.pushes == 5 && status.recordErrors == 8)
      let total = try await redis.table(keyspace.statsTotal)
      #expect(total["accepted"] == "9223372036854775807" && total["recipients"] == "5")
      #expect(try await redis.ask("GET", minute) == "no hash")
    }
  }

  @Test(arguments: [1_000, 1_001]) func theHashOfAnEventHasABoundedSize(fields: Int) async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let key = keyspace.event(id: "e1")
      for id in ["e1", "e2"] {
        _ = try await record.open(
          event: event(id), audience: sharded(2), source: "t/0/\(id)", now: noon)
        try await record.handOver(id, now: noon)
      }
      _ = try await redis.ask("DEL", key)
      let pairs = (0..<fields).flatMap { ["f\($0)", "1"] }
      #expect(try await redis.execute(RedisPipeline(["HSET", key] + pairs))[0].integer != nil)
      let shown = try await record.recentFanOuts(atMost: 5, checksSizes: true).map(\.event)
      #expect(shown == (fields > 1_000 ? ["e2"] : ["e2", "e1"]))
      do {
        try await record.checkSize(of: "e1")
        #expect(fields == 1_000)
      } catch let error as RecordError {
        #expect(error.code == .tooLarge && !error.isTransient && fields == 1_001)
        #expect(error.description.contains(key) && error.description.contains("1001"))
      }
      try await record.checkSize(of: "e2")
      try await record.checkSize(of: "unknown")
    }
  }

  /// The user has the token no more; who owns it cannot be said, and is not passed over in silence.
  @Test(arguments: [keyspace.tokenOwner(token: "aa"), keyspace.tokenMoves(token: "aa")])
  func anotherTypeAtATokensKeysIsCounted(_ key: String) async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      for (user, token) in [("u1", "aa"), ("u2", "bb")] {
        try await redis.bind(user, token, at: noon)
        _ = try await redis.ask("SET", keyspace.tokenOwner(token: token), user)
      }
      _ = try await redis.ask("DEL", key)
      _ = try await redis.ask("LPUSH", key, "neither")
      let settlement = try await record.settle(
        segments("e1", 1)[0],
        tally(accepted: 50, [gone("u1", "aa", since: noon), gone("u2", "bb", since: noon)]),
        now: noon)
      guard case .recorded(let settled) = settlement else {
        Issue.record("not recorded: \(settlement)")
        return
      }
      #expect(settled.findings.pruned == 2 && settled.findings.failed == 1)
      #expect(try await record.status(of: "e1")?.recordErrors == 1)
      #expect(try await redis.ask("LLEN", key) == "1")
      #expect(try await redis.ask("EXISTS", keyspace.tokenOwner(token: "bb")) == "0")
    }
  }

  @Test func anotherTypeAtAUsersKeysIsPassedOver() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      _ = try await redis.ask("SET", keyspace.bindings(user: "u1"), "no set")
      try await redis.bind("u2", "bb")
      _ = try await redis.ask("SET", keyspace.bound(user: "u2"), "no hash")
      try await redis.bind("u3", "cc")
      _ = try await redis.ask("HSET", keyspace.bound(user: "u3"), member("cc"), "yesterday")
      try await redis.bind("u4", "dd", at: noon)
      let verdicts = [
        gone("u1", "aa", since: noon), gone("u2", "bb", since: noon),
        gone("u3", "cc", since: noon), gone("u4", "dd", since: noon),
      ]
      let settlement = try await record.settle(
        segments("e1", 1)[0], tally(accepted: 50, verdicts), now: noon)
      guard case .recorded(let settled) = settlement else {
        Issue.record("not recorded: \(settlement)")
        return
      }
      #expect(settled.findings.pruned == 1 && settled.findings.refused == 1)
      #expect(settled.findings.undated == 1)
      #expect(settled.recordErrors == 2)
      #expect(try await redis.ask("SCARD", keyspace.bindings(user: "u3")) == "1")
    }
  }

  @Test func nonsenseInTheEventIsSaidOrMended() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let key = keyspace.event(id: "e1")
      _ = try await redis.ask(
        "HSET", key, "state", "confused", "plan", "sideways", "segments", "x", "settled", "y")
      do {
        _ = try await record.open(
          event: event("e1"), audience: sharded(1), source: "t/0/1", now: noon)
        Issue.record("a nonsense plan was taken")
      } catch let error as RecordError {
        #expect(error.code == .badContent && error.message.contains(key))
      }
      _ = try await record.settle(segments("e1", 1)[0], tally(accepted: 5), now: noon)
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .done && status.accepted == 5 && status.settled == 1)
    }
  }

  @Test func aFullRedisRefusesWithoutHalfASegment() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let segment = segments("e1", 1)[0]
      #expect(try await !redis.hasSettled(segment))
      _ = try await redis.ask("CONFIG", "SET", "maxmemory", "1")
      do {
        _ = try await record.settle(segment, tally(accepted: 5), now: noon)
        Issue.record("recorded in a full Redis")
      } catch let error as RecordError {
        #expect(error.code == .redis(.notServed) && error.isTransient, "\(error)")
      }
      _ = try await redis.ask("CONFIG", "SET", "maxmemory", "0")
      #expect(try await redis.ask("DBSIZE") == "0")
      _ = try await record.settle(segment, tally(accepted: 5), now: noon)
      #expect(try await record.status(of: "e1")?.accepted == 5)
    }
  }

  @Test func noServerIsTransient() async throws {
    let fixture = try RedisFixture()
    fixture.server.kill()
    try await fixture.run(commandTimeout: .milliseconds(50)) { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      do {
        _ = try await record.status(of: "e1")
        Issue.record("answered without a server")
      } catch let error as RecordError {
        #expect(error.code == .redis(.unavailable) && error.isTransient)
      }
    }
  }
}
