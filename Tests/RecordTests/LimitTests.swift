import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Record

/// What Redis lets workers together send in a second.
@Suite struct LimitTests {
  private static let app = PushLimit.Subject.app("a.b")

  /// Sets the time up to which the limit is used up, as so many seconds from Redis' time.
  private func use(_ key: String, seconds: Double, _ redis: RedisClient) async throws {
    let time = try await redis.execute(RedisPipeline(["TIME"]))[0]
    let now = (Int(time[0].text ?? "") ?? 0) * 1_000_000 + (Int(time[1].text ?? "") ?? 0)
    _ = try await redis.ask(
      "HSET", key, "used_until_us", String(now + Int(seconds * 1_000_000)))
  }

  /// A fifth of a second's pushes are there after a rest, however long; half of it for each who
  /// asks.
  @Test func givesOutWhatIsThere() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let limit = PushLimit(Self.app, rate: 1_000_000)
      #expect(try await record.lease(10, of: limit) == 10)
      let all = try await record.lease(1_000_000, of: limit)
      #expect((90_000...100_000).contains(all))
      let key = keyspace.limit(app: "a.b")
      #expect(try await redis.ask("TTL", key) == "60")
      try await use(key, seconds: -3_600, redis)
      #expect(try await record.lease(1_000_000, of: limit) == 100_000)
    }
  }

  @Test func givesNoMoreThanTheRate() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let limit = PushLimit(Self.app, rate: 500)
      let began = ContinuousClock.now
      var given = 0
      for _ in 0..<2_000 { given += try await record.lease(1_000, of: limit) }
      let seconds = (ContinuousClock.now - began) / .seconds(1)
      #expect(given >= 100 && Double(given) <= 500 * (seconds + 0.2) + 1)
    }
  }

  @Test(arguments: [1, 3]) func evenTheSmallestLimitGivesOne(rate: Int) async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let limit = PushLimit(Self.app, rate: rate)
      #expect(try await record.lease(1, of: limit) == 1)
      let key = keyspace.limit(app: "a.b")
      try await use(key, seconds: 0.3, redis)
      #expect(try await record.lease(1, of: limit) == 0)
      try await use(key, seconds: -1.0 / Double(rate) - 0.01, redis)
      #expect(try await record.lease(5, of: limit) == 1)
    }
  }

  /// It gives on from now, and does not wait until the time has come again.
  @Test func aClockThatWasSetBackStopsNothing() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let limit = PushLimit(Self.app, rate: 1_000_000)
      try await use(keyspace.limit(app: "a.b"), seconds: 3_600, redis)
      var given = 0
      for _ in 0..<1_000 where given == 0 { given = try await record.lease(1, of: limit) }
      #expect(given == 1)
    }
  }

  @Test func appsEventsAndProjectsHaveTheirOwn() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      for subject in [Self.app, .app("a.c"), .event("a.b"), .project("a.b")] {
        #expect(try await record.lease(5, of: PushLimit(subject, rate: 1)) == 1)
      }
      let keys = ["ff:{a:a.b}:limit", "ff:{e:a.b}:limit", "ff:{p:a.b}:limit"]
      for key in keys { #expect(try await redis.ask("EXISTS", key) == "1") }
    }
  }
}
