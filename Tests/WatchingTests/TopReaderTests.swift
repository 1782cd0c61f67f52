import Fixtures
import Keyspace
import Redis
import Testing

@testable import Watching

/// What is read from a real Redis, and how much.
@Suite struct TopReaderTests {
  private static let keyspace = Keyspace()

  private func write(_ event: String, _ fields: [String: String], _ redis: RedisClient) async throws
  {
    let key = Self.keyspace.event(id: event)
    for (name, value) in fields { _ = try await redis.ask("HSET", key, name, value) }
    _ = try await redis.ask("XADD", Self.keyspace.statsFanOuts, "*", "id", event)
  }

  /// How often Redis was asked for a hash.
  private func reads(_ redis: RedisClient) async throws -> Int {
    let text = try await redis.ask("INFO", "commandstats") ?? ""
    let line = text.split(whereSeparator: \.isNewline).first {
      $0.hasPrefix("cmdstat_hgetall:calls=")
    }
    return line.flatMap { Int($0.dropFirst(22).prefix { $0.isNumber }) } ?? 0
  }

  @Test func theViewIsReadAndRatesFollow() async throws {
    try await RedisFixture().run { redis async throws in
      let reader = TopReader(redis: redis, keyspace: Self.keyspace, limit: 10)
      try await write("e1", halfway.merging(["state": "running"]) { $1 }, redis)
      let worker = Self.keyspace.worker(id: "w1")
      _ = try await redis.ask("HSET", worker, "lag", "7", "held_routes", "sandbox: slow; x: y")
      _ = try await redis.ask("HSET", Self.keyspace.workers, "w1", "\(noon)")
      var shown = try await reader.read(now: noon, monotonic: 0)
      #expect(shown.fanOuts.map(\.event) == ["e1"])
      #expect(shown.fanOuts[0].rate == nil)
      #expect(shown.lag == 7)
      #expect(shown.obstacles.map(\.text) == ["sandbox: slow", "x: y"])
      _ = try await redis.ask("HINCRBY", Self.keyspace.event(id: "e1"), "pushes", "2000")
      _ = try await redis.ask("HSET", worker, "held_routes", "x: y")
      shown = try await reader.read(now: noon + 2_000, monotonic: 2 * second)
      #expect(shown.fanOuts[0].rate == 1_000)
      #expect(
        shown.obstacles == [ObstacleRow(text: "x: y", workers: 1, seenSince: noon)])
    }
  }

  @Test func whatHasEndedIsReadAgainAfterHalfAMinute() async throws {
    try await RedisFixture().run { redis async throws in
      let reader = TopReader(redis: redis, keyspace: Self.keyspace, limit: 50)
      for index in 0..<20 { try await write("done-\(index)", ["state": "done"], redis) }
      try await write("e1", ["state": "running"], redis)
      let before = try await reads(redis)
      _ = try await reader.read(now: noon, monotonic: 0)
      #expect(try await reads(redis) - before == 22)
      let shown = try await reader.read(now: noon + 1_000, monotonic: second)
      #expect(shown.fanOuts.count == 21)
      #expect(try await reads(redis) - before == 24)
      _ = try await reader.read(now: noon + 31_000, monotonic: 31 * second)
      #expect(try await reads(redis) - before == 46)
    }
  }

  /// One whose waves have begun is in both lists.
  @Test func whatIsScheduledIsShown() async throws {
    try await RedisFixture().run { redis async throws in
      let reader = TopReader(redis: redis, keyspace: Self.keyspace, limit: 2)
      try await write("e1", ["state": "running"], redis)
      for (index, event) in ["e1", "later", "last"].enumerated() {
        _ = try await redis.ask(
          "ZADD", Self.keyspace.statsScheduled, "\(noon + Int64(index) * 1_000)", event)
        let key = Self.keyspace.event(id: event)
        if event != "e1" { _ = try await redis.ask("HSET", key, "state", "scheduled") }
      }
      _ = try await redis.ask(
        "HSET", Self.keyspace.event(id: "later"), "release_dead_letter", "unknown_template")
      let shown = try await reader.read(now: noon, monotonic: 0).fanOuts
      #expect(shown.map(\.event).sorted() == ["e1", "later"], "two of each list")
      let later = shown.first { $0.event == "later" }
      #expect(later?.state == .scheduled && later?.why.contains("unknown_template") == true)
    }
  }

  @Test func noMoreIsReadThanIsShown() async throws {
    try await RedisFixture().run { redis async throws in
      let reader = TopReader(redis: redis, keyspace: Self.keyspace, limit: 5)
      for index in 0..<20 { try await write("e\(index)", ["state": "running"], redis) }
      for index in 0..<100 {
        _ = try await redis.ask("HSET", Self.keyspace.workers, "w\(index)", "\(index)")
        _ = try await redis.ask("HSET", Self.keyspace.worker(id: "w\(index)"), "lag", "1")
      }
      let before = try await reads(redis)
      let shown = try await reader.read(now: noon, monotonic: 0)
      #expect(Set(shown.fanOuts.map(\.event)) == ["e15", "e16", "e17", "e18", "e19"])
      #expect(shown.workers.count == TopReader.maximumWorkers)
      #expect(shown.workersLeftOut == 100 - TopReader.maximumWorkers)
      #expect(try await reads(redis) - before == 5 + 1 + TopReader.maximumWorkers)
    }
  }
}
