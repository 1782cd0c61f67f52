import Keyspace
import Redis
import Testing

@testable import Devices

@Suite struct AudienceFollowsTests {
  @Test func newStreamersGetAHeadingAndEveryFollower() async throws {
    try await RedisFixture().run { redis async throws in
      let follows = AudienceFollows(redis: redis, keyspace: keyspace)
      let users = (0..<4_500).map { "user-\($0)" }
      for user in users { try await follows.append(streamer: "s1", user: user) }
      try await follows.append(streamer: "s2", user: "user-1")
      #expect(try await follows.finish() == ["s1"])
      #expect(follows.added == 4_501)
      #expect(try await redis.followers("s1") == users.sorted())
      #expect(try await redis.followers("s2") == ["user-1"])
      #expect(
        try await redis.table(keyspace.followers(of: "s1"))
          == ["shards": "1", "generation": "0", "followers": "4500"])
    }
  }

  @Test func followsGoIntoTheShardsThatAreThere() async throws {
    try await RedisFixture().run { redis async throws in
      let writer = AudienceWriter(redis: redis, keyspace: keyspace)
      try await writer.begin(streamer: "s1", expectedFollowers: 5_000)
      try await writer.append(AudienceRow(user: "a", profile: [], bindings: [], boundAt: 1))
      try await writer.finish()
      let follows = AudienceFollows(redis: redis, keyspace: keyspace)
      for user in ["a", "b", "c", "d"] { try await follows.append(streamer: "s1", user: user) }
      #expect(try await follows.finish() == [])
      #expect(follows.added == 3)
      #expect(try await redis.followers("s1") == ["a", "b", "c", "d"])
      let shard = Keyspace.shard(of: "d", shards: 4)
      #expect(try await redis.ask("SISMEMBER", "ffd:{f:s1:1:\(shard)}", "d") == "1")
    }
  }

  @Test func aRewriteUnderWayIsWrittenToToo() async throws {
    try await RedisFixture().run { redis async throws in
      let writer = AudienceWriter(redis: redis, keyspace: keyspace)
      try await writer.begin(streamer: "s1", expectedFollowers: 1)
      let follows = AudienceFollows(redis: redis, keyspace: keyspace)
      try await follows.append(streamer: "s1", user: "meanwhile")
      _ = try await follows.finish()
      try await writer.append(AudienceRow(user: "a", profile: [], bindings: [], boundAt: 1))
      try await writer.finish()
      #expect(try await redis.followers("s1") == ["a", "meanwhile"])
    }
  }

  @Test func scriptsThatRedisForgotAreSentAgain() async throws {
    try await RedisFixture().run { redis async throws in
      let follows = AudienceFollows(redis: redis, keyspace: keyspace)
      try await follows.append(streamer: "s1", user: "a")
      _ = try await follows.finish()
      _ = try await redis.ask("SCRIPT", "FLUSH")
      try await follows.append(streamer: "s1", user: "b")
      _ = try await follows.finish()
      #expect(try await redis.followers("s1") == ["a", "b"])
    }
  }

  @Test(arguments: ["s{1", "", "s:1:2"])
  func whatIsNoStreamerIsRefused(_ streamer: String) async throws {
    try await RedisFixture().run { redis async throws in
      let follows = AudienceFollows(redis: redis, keyspace: keyspace)
      await #expect(throws: DevicesError.self) {
        try await follows.append(streamer: streamer, user: "a")
      }
    }
  }
}
