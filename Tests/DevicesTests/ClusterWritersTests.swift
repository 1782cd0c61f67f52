import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Devices

/// Whatever writes users and followers, on a cluster of three masters. What happens at the same
/// time as something else is in the suites that say so.
@Suite struct ClusterWritersTests {
  @Test func anImportAndASeedAreSpreadOverAllMasters() async throws {
    let bed = try RedisBed(.cluster)
    try await bed.run { redis async throws in
      let writer = AudienceWriter(
        redis: redis, keyspace: keyspace, options: AudienceWriterOptions(rowsPerPage: 100))
      let audience = SyntheticAudience(followers: 5_000, seed: 1, topic: "com.example.live")
      try await writer.begin(streamer: "s1", expectedFollowers: 5_000)
      for index in 0..<5_000 { try await writer.append(audience.row(index)) }
      let summary = try await writer.finish()
      #expect(summary.followers == 5_000 && summary.shards == 4)
      #expect(summary.devices == audience.totals().devices)
      #expect(try await redis.followers("s1").count == 5_000)
      for index in [0, 17, 4_999] {
        let row = audience.row(index)
        let members = try await redis.members(keyspace.bindings(user: row.user))
        #expect(members == row.bindings.map(\.member).sorted())
      }
      // Again, in the place of the first; and one with a token of another.
      try await writer.begin(streamer: "s1", expectedFollowers: 1)
      try await writer.append(row("x", audience.row(17).bindings[0].token))
      #expect(try await writer.finish().generation == 2)
      #expect(try await redis.followers("s1") == ["x"])
      #expect(try await redis.tokens(audience.row(17).user).count < audience.row(17).bindings.count)

      let follows = AudienceFollows(redis: redis, keyspace: keyspace)
      for index in 0..<3_000 {
        for streamer in ["s1", "s2"] {
          try await follows.append(streamer: streamer, user: audience.user(index))
        }
      }
      #expect(Set(try await follows.finish()) == ["s1", "s2"])
      #expect(follows.added == 6_000)
      let sharding = AudienceSharding(redis: redis, keyspace: keyspace)
      #expect(try await sharding.run(streamer: "s1", from: .current).followers == 3_001)
      #expect(try await sharding.run(streamer: "s2", from: .current).shards == 2)
      #expect(try await redis.followers("s2").count == 3_000)
    }
    let sizes = try bed.masters.map { Int(try $0.cli("DBSIZE")) ?? 0 }
    #expect(sizes.allSatisfy { $0 > 1_000 })
  }

  @Test func devicesAreBoundTakenReplacedAndGivenBack() async throws {
    let bed = try RedisBed(.cluster)
    try await bed.run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      let (first, second) = (try binding("aa"), try binding("bb"))
      #expect(try await registry.bind(user: "u1", first, at: 100))
      #expect(try await !registry.bind(user: "u1", first, at: 100))
      #expect(try await registry.bind(user: "u2", first, at: 200))
      #expect(try await redis.tokens("u1") == [])
      #expect(try await registry.bind(user: "u3", second, at: 200))
      #expect(try await registry.replace(user: "u2", first, with: second, at: 300))
      #expect(try await redis.tokens("u2") == ["bb"])
      #expect(try await redis.tokens("u3") == [])
      #expect(try await redis.ask("GET", keyspace.tokenOwner(token: "aa")) == nil)
      #expect(try await registry.unbind(user: "u2", second))
      #expect(try await redis.tokens("u2") == [])
      try await registry.change(profileOf: "u2", ProfilePatch([("locale", "ja"), ("badge", "")]))
      #expect(try await redis.table(keyspace.profile(user: "u2")) == ["locale": "ja"])
    }
  }

  @Test func whatWasSetAsideIsFoundOnEveryMaster() async throws {
    let bed = try RedisBed(.cluster)
    try await bed.run { redis async throws in
      for index in 0..<60 {
        _ = try await redis.ask(
          "HSET", keyspace.quarantined(user: "u\(index)"), try binding("aa\(10 + index)").member,
          "BadDeviceToken 5")
      }
      try await DeviceRegistry(redis: redis, keyspace: keyspace)
        .bind(user: "other", try binding("aa10"), at: 1)
      var told: [DeviceRestoration.Fate] = []
      for writes in [false, true] {
        told = []
        let unreadable = try await DeviceRestoration(redis: redis, keyspace: keyspace)
          .run(QuarantineFilter(), writes: writes) { devices in
            told += devices.map(\.fate)
            return true
          }
        #expect(unreadable == 0)
        #expect(told.count { $0 == .restored } == 59)
        #expect(told.count { $0 == .takenByAnother } == 1)
      }
      for index in 1..<60 { #expect(try await redis.tokens("u\(index)") == ["aa\(10 + index)"]) }
      #expect(try await redis.tokens("u0") == [])
    }
  }

  @Test func followersAreCountedAndAPlainSetIsDivided() async throws {
    let bed = try RedisBed(.cluster)
    try await bed.run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      for user in ["a", "b", "b"] { _ = try await registry.follow(streamer: "s1", user: user) }
      #expect(try await registry.unfollow(streamer: "s1", user: "a"))
      #expect(try await redis.followers("s1") == ["b"])
      #expect(try await redis.ask("HGET", keyspace.followers(of: "s1"), "followers") == "1")
      let users = (0..<10_000).map { "user-\($0)" }
      _ = try await redis.execute(RedisPipeline(["SADD", "followers:s2"] + users))
      let summary = try await AudienceSharding(redis: redis, keyspace: keyspace)
        .run(streamer: "s2", from: .plain(key: "followers:s2"))
      #expect(summary.followers == 10_000 && summary.shards == 8)
      #expect(try await redis.followers("s2") == users.sorted())
    }
  }
}
