import Fixtures
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

  /// Both find no heading, and one of them comes second.
  @Test func twoFirstFollowersAreBothCounted() async throws {
    let fixture = try RedisFixture()
    let streamers = (0..<200).map { "s\($0)" }
    try await withThrowingTaskGroup { group in
      for user in ["u1", "u2"] {
        group.addTask {
          try await fixture.run { redis async throws in
            let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
            for streamer in streamers {
              try await registry.follow(streamer: streamer, user: user)
            }
          }
        }
      }
      try await group.waitForAll()
    }
    try await fixture.run { redis async throws in
      for streamer in streamers {
        #expect(try await redis.table(keyspace.followers(of: streamer))["followers"] == "2")
      }
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

  @Test func streamersWhoOnlyLookAlikeAreTwo() async throws {
    try await RedisFixture().run { redis async throws in
      let streamers = ["caf\u{E9}", "cafe\u{301}"]
      let users = (0..<2_100).map { "u\($0)" }.sorted()
      let follows = AudienceFollows(redis: redis, keyspace: keyspace)
      for user in users {
        for streamer in streamers { try await follows.append(streamer: streamer, user: user) }
      }
      // Both have outgrown their one shard.
      let outgrown = try await follows.finish()
      #expect(Set(outgrown.map { Array($0.utf8) }) == Set(streamers.map { Array($0.utf8) }))
      #expect(follows.added == 4_200)
      for streamer in streamers { #expect(try await redis.followers(streamer) == users) }
    }
  }

  @Test func aFollowDoesNotHideAPlainSet() async throws {
    try await RedisFixture().run { redis async throws in
      let plainSet = PlainSetPattern("followers:{streamer}")
      _ = try await redis.ask("SADD", "followers:s1", "a", "b")
      let follows = AudienceFollows(redis: redis, keyspace: keyspace, plainSet: plainSet)
      let error = await failure { try await follows.append(streamer: "s1", user: "c") }
      #expect(error?.code == .invalid && error?.message.contains("followers:s1") == true)
      try await follows.append(streamer: "s2", user: "c")
      _ = try await follows.finish()
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace, plainSet: plainSet)
      #expect(
        await failure { try await registry.follow(streamer: "s1", user: "c") }?.code == .invalid)
      #expect(try await redis.keys().contains(keyspace.followers(of: "s1")) == false)
      _ = try await AudienceSharding(redis: redis, keyspace: keyspace)
        .run(streamer: "s1", from: .plain(key: "followers:s1"))
      try await follows.append(streamer: "s1", user: "c")
      _ = try await follows.finish()
      #expect(try await registry.follow(streamer: "s1", user: "d"))
      #expect(try await redis.followers("s1") == ["a", "b", "c", "d"])
      #expect(PlainSetPattern("{streamer}:of:{streamer}").key(of: "x") == "x:of:x")
    }
  }

  @Test(arguments: ["s{1", "", "s:1:2"])
  func whatIsNoStreamerIsRefused(_ streamer: String) async throws {
    try await RedisFixture().run { redis async throws in
      let follows = AudienceFollows(redis: redis, keyspace: keyspace)
      let error = await failure { try await follows.append(streamer: streamer, user: "a") }
      #expect(error?.code == .invalid)
      _ = try await follows.finish()
      #expect(follows.added == 0)
      #expect(try await redis.keys() == [])
    }
  }
}
