import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Devices

@Suite struct AudienceShardingTests {
  @Test func aPlainSetIsDividedAndStays() async throws {
    try await RedisFixture().run { redis async throws in
      let users = (0..<10_000).map { "user-\($0)" }
      let pipeline = RedisPipeline(["SADD", "followers:s1"] + users)
      pipeline.append("SADD", "followers:s1", "not{an}id", "nor\nthis")
      _ = try await redis.execute(pipeline)
      let summary = try await AudienceSharding(redis: redis, keyspace: keyspace)
        .run(streamer: "s1", from: .plain(key: "followers:s1"))
      #expect(summary.followers == 10_000 && summary.shards == 8 && summary.generation == 1)
      #expect(summary.skipped == 2)
      #expect(try await redis.followers("s1") == users.sorted())
      #expect(try await redis.ask("SCARD", "followers:s1") == "10002")
    }
  }

  @Test func aGrownAudienceGetsMoreShards() async throws {
    try await RedisFixture().run { redis async throws in
      let users = (0..<9_000).map { "user-\($0)" }
      _ = try await redis.execute(RedisPipeline(["SADD", "ffd:{f:s1:1:0}"] + users))
      _ = try await redis.ask(
        "HSET", keyspace.followers(of: "s1"), "shards", "1", "generation", "1", "followers", "7")
      var last = (0, 0)
      let summary = try await AudienceSharding(redis: redis, keyspace: keyspace)
        .run(streamer: "s1", from: .current) { last = ($0, $1) }
      #expect(last == (9_000, 9_000))
      #expect(summary.followers == 9_000 && summary.shards == 8 && summary.generation == 2)
      #expect(try await redis.followers("s1") == users.sorted())
      #expect(try await redis.ask("EXISTS", "ffd:{f:s1:1:0}") == "0")
    }
  }

  @Test func whoUnfollowsDuringTheCopyDoesNotComeBack() async throws {
    let fixture = try RedisFixture()
    let users = (0..<3_000).map { "user-\($0)" }
    try await fixture.run { redis async throws in
      _ = try await redis.execute(RedisPipeline(["SADD", "ffd:{f:s1:1:0}"] + users))
      _ = try await redis.ask(
        "HSET", keyspace.followers(of: "s1"), "shards", "1", "generation", "1", "followers",
        "3000")
    }
    async let summary = fixture.run { redis async throws in
      try await AudienceSharding(
        redis: redis, keyspace: keyspace, options: AudienceWriterOptions(scanCount: 20)
      ).run(streamer: "s1", from: .current)
    }
    async let changes: Void = fixture.run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      for index in stride(from: 0, to: 3_000, by: 10) {
        _ = try await registry.unfollow(streamer: "s1", user: "user-\(index)")
        _ = try await registry.follow(streamer: "s1", user: "new-\(index)")
      }
    }
    let written = try await summary
    try await changes
    try await fixture.run { redis async throws in
      #expect(written.generation == 2 && written.shards == 2)
      let wanted =
        users.filter { !$0.hasSuffix("0") }
        + stride(from: 0, to: 3_000, by: 10).map { "new-\($0)" }
      #expect(try await redis.followers("s1") == wanted.sorted())
      let heading = try await redis.table(keyspace.followers(of: "s1"))
      // Who came between the count and the last step is not in the number.
      let followers = Int(heading["followers"] ?? "") ?? 0
      #expect((2_990...3_010).contains(followers) && heading["next"] == nil)
    }
  }

  @Test func errorsLeaveTheCurrentGeneration() async throws {
    try await RedisFixture().run { redis async throws in
      let sharding = AudienceSharding(redis: redis, keyspace: keyspace)
      let nobody = await failure { _ = try await sharding.run(streamer: "s1", from: .current) }
      #expect(nobody?.code == .invalid)
      _ = try await redis.ask("SET", "followers:s1", "no set")
      let error = await failure {
        _ = try await sharding.run(streamer: "s1", from: .plain(key: "followers:s1"))
      }
      #expect(error?.code == .redis(.wrongType))
      #expect(try await redis.keys() == ["followers:s1"])
    }
  }
}
