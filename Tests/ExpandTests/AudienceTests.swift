import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Expand

@Suite struct AudienceTests {
  private let options = ExpandOptions(plainSetKey: "followers:{streamer}:all")

  @Test func shardsComeBeforeThePlainSet() async throws {
    let options = options
    try await RedisFixture().run { redis async throws in
      let stage = ExpandStage(redis: redis, keyspace: keyspace, options: options)
      #expect(try await stage.audience(of: "s1") == Audience.none)
      try await redis.commands([["SADD", "followers:s1:all", "u1"]])
      #expect(try await stage.audience(of: "s1") == .plain(key: "followers:s1:all"))
      // A first generation that is still being written is not there yet.
      try await redis.commands([["HSET", keyspace.followers(of: "s1"), "next", "1:4"]])
      #expect(try await stage.audience(of: "s1") == .plain(key: "followers:s1:all"))
      try await redis.heading(4, generation: 7, followers: 9)
      #expect(
        try await stage.audience(of: "s1") == .sharded(shards: 4, generation: 7, followers: 9))
      let sharded = ExpandStage(redis: redis, keyspace: keyspace)
      #expect(try await sharded.audience(of: "s2") == Audience.none)
    }
  }

  @Test func nonsenseIsAnErrorThatNamesTheKey() async throws {
    let options = options
    try await RedisFixture().run { redis async throws in
      let stage = ExpandStage(redis: redis, keyspace: keyspace, options: options)
      let key = keyspace.followers(of: "s1")
      for (shards, generation) in [
        ("0", "1"), ("3", "1"), ("131072", "1"), ("-2", "1"), ("x", "1"), ("", "1"), ("4", "-1"),
        ("4", "x"), ("4", "99999999999999999999"), ("9223372036854775808", "1"),
      ] {
        try await redis.commands([["HSET", key, "shards", shards, "generation", generation]])
        let error = await failure { _ = try await stage.audience(of: "s1") }
        #expect(error?.code == .badContent && error?.isTransient == false)
        #expect(error?.description.contains(key) == true, "\(shards) \(generation)")
      }
      try await redis.commands([["HDEL", key, "generation"], ["HSET", key, "shards", "4"]])
      #expect(await failure { _ = try await stage.audience(of: "s1") }?.code == .badContent)
      // The number of followers is only shown.
      try await redis.commands([["HSET", key, "generation", "1", "followers", "many"]])
      #expect(
        try await stage.audience(of: "s1") == .sharded(shards: 4, generation: 1, followers: 0))
      try await redis.commands([["DEL", key], ["SET", key, "x"]])
      let error = await failure { _ = try await stage.audience(of: "s1") }
      #expect(error?.code == .redis(.wrongType) && error?.description.contains(key) == true)
      try await redis.commands([["SET", "followers:s2:all", "x"]])
      let other = await failure { _ = try await stage.audience(of: "s2") }
      #expect(other?.code == .redis(.wrongType))
      #expect(other?.description.contains("followers:s2:all") == true)
      for streamer in ["", "a}b", "a:1:2", "a\u{0}b"] {
        #expect(await failure { _ = try await stage.audience(of: streamer) }?.code == .invalid)
      }
    }
  }

  @Test func noServerAndNoPermissionAreTransient() async throws {
    let fixture = try RedisFixture()
    try await fixture.run { redis async throws in
      try await redis.commands([
        ["ACL", "SETUSER", "default", "resetkeys", "~other:*"]
      ])
      let stage = ExpandStage(redis: redis, keyspace: keyspace)
      let error = await failure { _ = try await stage.audience(of: "s1") }
      #expect(error?.code == .redis(.notPermitted) && error?.isTransient == true)
    }
    fixture.server.kill()
    try await fixture.run(commandTimeout: .milliseconds(50)) { redis async throws in
      let stage = ExpandStage(redis: redis, keyspace: keyspace)
      let error = await failure { _ = try await stage.audience(of: "s1") }
      #expect(error?.code == .redis(.unavailable) && error?.isTransient == true)
    }
  }
}
