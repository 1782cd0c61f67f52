import Keyspace
import Model
import Redis
import Testing

@testable import Devices

/// What is read of a user, and mutes: on one Redis and on a cluster.
@Suite struct UserTests {
  @Test(arguments: RedisBed.Kind.allCases)
  func aUserIsReadWhole(_ kind: RedisBed.Kind) async throws {
    try await RedisBed(kind).run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      #expect(try await !registry.user("u1").isKnown)
      try await registry.bind(user: "u1", try binding("aa"), at: 100)
      try await registry.bind(user: "u1", try binding("bb", "com.example.other"), at: 300)
      try await registry.bind(user: "u1", try binding("cc"), at: 200)
      _ = try await redis.ask(
        "SADD", keyspace.bindings(user: "u1"), "web:push", try binding("dd").member)
      _ = try await redis.ask(
        "HSET", keyspace.quarantined(user: "u1"), try binding("ee").member, "BadDeviceToken 7")
      _ = try await redis.ask("HSET", keyspace.quarantined(user: "u1"), "what", "x")
      _ = try await redis.ask("ZADD", keyspace.reached(user: "u1"), "5", "event-1")
      try await registry.change(profileOf: "u1", ProfilePatch([("tz", "Asia/Tokyo")]))
      let user = try await registry.user("u1")
      #expect(user.devices.bound.map(\.binding.token) == ["bb", "cc", "aa", "dd"])
      #expect(user.devices.bound.map(\.boundAt) == [300, 200, 100, nil])
      #expect(user.devices.setAside.map(\.reason) == ["BadDeviceToken"])
      #expect(user.devices.unreadable == 2)
      #expect(user.profile["tz"] == "Asia/Tokyo" && user.reached == 1 && user.isKnown)
      #expect(try await registry.devices(of: "u1") == user.devices)
      #expect(try await registry.profile(of: "u1") == user.profile)
      _ = try await redis.ask("SET", keyspace.bindings(user: "u2"), "x")
      let wrong = await failure { _ = try await registry.devices(of: "u2") }
      #expect(wrong?.code == .redis(.wrongType))
      #expect(wrong?.message.hasPrefix(keyspace.bindings(user: "u2") + " is a string") == true)
    }
  }

  @Test func aTokenLeavesInWhateverTopicIsLeftOpen() async throws {
    try await RedisBed(.one).run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      let sandbox = try #require(
        Binding(destination: .sandbox, topic: "com.example.live", token: "aa"))
      let all = [
        try binding("aa"), try binding("aa", "com.example.other"), sandbox, try binding("baa0"),
      ]
      func bindAll() async throws {
        for device in all { try await registry.bind(user: "u1", device, at: 1) }
      }
      try await bindAll()
      let owner = keyspace.tokenOwner(token: "aa")
      #expect(try await registry.unbind(user: "u1", token: "aa", environment: .sandbox) == 1)
      #expect(try await registry.unbind(user: "u1", token: "aa", topic: "com.example.live") == 1)
      #expect(try await redis.ask("GET", owner) == "u1")
      #expect(try await registry.unbind(user: "u1", token: "aa") == 1)
      #expect(try await redis.ask("GET", owner) == nil)
      try await bindAll()
      // Set aside it is the user's still.
      _ = try await redis.ask("HSET", keyspace.quarantined(user: "u1"), sandbox.member, "x")
      #expect(try await registry.unbind(user: "u2", token: "aa") == 0)
      #expect(try await registry.unbind(user: "u1", token: "aa") == 3)
      #expect(try await redis.tokens("u1") == ["baa0"])
      #expect(try await redis.ask("EXISTS", keyspace.quarantined(user: "u1")) == "0")
      #expect(try await redis.ask("GET", owner) == nil)
      #expect(try await redis.ask("GET", keyspace.tokenOwner(token: "baa0")) == "u1")
    }
  }

  @Test(arguments: RedisBed.Kind.allCases)
  func streamersAreMutedAndHeardAgain(_ kind: RedisBed.Kind) async throws {
    try await RedisBed(kind).run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      func list() async throws -> String? {
        try await redis.ask("HGET", keyspace.profile(user: "u1"), "muted_streamers")
      }
      #expect(try await registry.mute(user: "u1", streamers: ["s1", "s2", "s1"]) == 2)
      #expect(try await registry.mute(user: "u1", streamers: ["s2", "s11"]) == 1)
      #expect(try await list() == "s1\ns2\ns11")
      #expect(try await registry.mute(user: "u1", streamers: ["s1", "s9"], isMuted: false) == 1)
      #expect(try await list() == "s2\ns11")
      // A list that somebody else wrote.
      _ = try await redis.ask(
        "HSET", keyspace.profile(user: "u1"), "muted_streamers", "s2\n\ns2\ns3\n")
      #expect(try await registry.mute(user: "u1", streamers: ["s2"], isMuted: false) == 2)
      #expect(try await list() == "s3")
      #expect(try await registry.mute(user: "u1", streamers: ["s3"], isMuted: false) == 1)
      #expect(try await list() == nil)
      // What rules would not look at is not written.
      let long = (0..<200).map { "s\($0)-" + String(repeating: "x", count: 100) }
      let error = await failure { _ = try await registry.mute(user: "u1", streamers: long) }
      #expect(error?.code == .invalid)
      #expect(try await list() == nil)
      #expect(try await registry.mute(user: "u1", streamers: Array(long.prefix(150))) == 150)
      #expect(
        await failure { _ = try await registry.mute(user: "u1", streamers: ["a\nb"]) }?.code
          == .invalid)
    }
  }

  @Test func whoFollowsMayMuteInTheSameCall() async throws {
    try await RedisBed(.one).run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      func muted() async throws -> String? {
        try await registry.profile(of: "u1")["muted_streamers"]
      }
      #expect(try await registry.follow(streamer: "s1", user: "u1", isMuted: true))
      #expect(try await muted() == "s1")
      #expect(try await !registry.follow(streamer: "s1", user: "u1"))
      #expect(try await muted() == "s1")
      #expect(try await !registry.follow(streamer: "s1", user: "u1", isMuted: false))
      #expect(try await muted() == nil)
      #expect(try await redis.followers("s1") == ["u1"])
    }
  }
}
