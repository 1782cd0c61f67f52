import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Devices

@Suite struct DeviceRegistryTests {
  @Test func bindingWritesWhatExpandAndRecordRead() async throws {
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      let first = try binding("aa")
      #expect(try await registry.bind(user: "u1", first, at: 100))
      #expect(try await !registry.bind(user: "u1", first, at: 90))
      #expect(try await redis.tokens("u1") == ["aa"])
      #expect(try await redis.table(keyspace.bound(user: "u1")) == [first.member: "100"])
      _ = try await registry.bind(user: "u1", first, at: 200)
      #expect(try await redis.table(keyspace.bound(user: "u1")) == [first.member: "200"])
      #expect(try await redis.ask("GET", keyspace.tokenOwner(token: "aa")) == "u1")
      #expect(try await registry.unbind(user: "u1", first))
      #expect(try await !registry.unbind(user: "u1", first))
      #expect(try await redis.keys() == [])
    }
  }

  @Test func aTokenLeavesItsFirstUserAndItsQuarantine() async throws {
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      let device = try binding("aa")
      _ = try await registry.bind(user: "u1", device, at: 100)
      _ = try await registry.bind(user: "u1", try binding("bb"), at: 100)
      for user in ["u1", "u2"] {
        _ = try await redis.ask(
          "HSET", keyspace.quarantined(user: user), device.member, "BadDeviceToken")
      }
      #expect(try await registry.bind(user: "u2", device, at: 200))
      #expect(try await redis.tokens("u1") == ["bb"])
      #expect(try await redis.tokens("u2") == ["aa"])
      #expect(try await redis.ask("HLEN", keyspace.bound(user: "u1")) == "1")
      #expect(try await redis.ask("GET", keyspace.tokenOwner(token: "aa")) == "u2")
      for user in ["u1", "u2"] {
        #expect(try await redis.ask("EXISTS", keyspace.quarantined(user: user)) == "0")
      }
      // The first user's late logout must not take the token from the second.
      #expect(try await !registry.unbind(user: "u1", device))
      #expect(try await redis.ask("GET", keyspace.tokenOwner(token: "aa")) == "u2")
    }
  }

  @Test func replacingNeverLeavesBothNorNone() async throws {
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      let (old, new) = (try binding("aa"), try binding("bb"))
      _ = try await registry.bind(user: "u1", old, at: 100)
      _ = try await registry.bind(user: "u2", new, at: 100)
      #expect(try await registry.replace(user: "u1", old, with: new, at: 200))
      #expect(try await redis.tokens("u1") == ["bb"])
      #expect(try await redis.tokens("u2") == [])
      #expect(try await redis.ask("GET", keyspace.tokenOwner(token: "aa")) == nil)
      #expect(try await redis.ask("GET", keyspace.tokenOwner(token: "bb")) == "u1")
      #expect(try await !registry.replace(user: "u1", old, with: new, at: 300))
      #expect(try await registry.replace(user: "u1", new, with: new, at: 300))
      #expect(try await redis.tokens("u1") == ["bb"])
    }
  }

  @Test func racingBindsLeaveOneOwner() async throws {
    let fixture = try RedisFixture()
    @Sendable func token(_ round: Int) -> String { "aa\(1_000 + round)" }
    @Sendable func login(_ name: String) async throws {
      try await fixture.run { redis async throws in
        let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
        for round in 0..<100 {
          _ = try await registry.bind(
            user: "\(name)\(round)", try binding(token(round)), at: Int64(round))
        }
      }
    }
    async let first: Void = login("a")
    async let second: Void = login("b")
    _ = try await (first, second)
    try await fixture.run { redis async throws in
      for round in 0..<100 {
        let owner = try await redis.ask("GET", keyspace.tokenOwner(token: token(round)))
        for user in ["a\(round)", "b\(round)"] {
          #expect(try await redis.tokens(user) == (user == owner ? [token(round)] : []))
        }
      }
    }
  }

  @Test func aTokenLeavesItsFirstUserInEveryAppAndEnvironment() async throws {
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      let sandbox = try #require(
        Binding(destination: .sandbox, topic: "com.example.live", token: "aa"))
      for first in ["u1", "caf\u{E9}"] {
        _ = try await registry.bind(user: first, sandbox, at: 100)
        _ = try await registry.bind(user: first, try binding("aa", "com.example.other"), at: 100)
        _ = try await registry.bind(user: first, try binding("bb\(first.utf8.count)0"), at: 100)
        // The second as the first: the same text to Swift, another user to Redis.
        let second = first == "u1" ? "u2" : "cafe\u{301}"
        #expect(try await registry.bind(user: second, try binding("aa"), at: 200))
        #expect(try await redis.tokens(first) == ["bb\(first.utf8.count)0"])
        #expect(try await redis.ask("HLEN", keyspace.bound(user: first)) == "1")
        #expect(try await redis.tokens(second) == ["aa"])
      }
    }
  }

  @Test(arguments: [true, false])
  func whoKeepsATokenInAnotherAppKeepsOwningIt(_ isScript: Bool) async throws {
    let script = try shippedScript("bind.lua")
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      let other = try binding("aa", "com.example.other")
      for device in [try binding("aa"), other] {
        _ = try await registry.bind(user: "u1", device, at: 100)
      }
      let owner = keyspace.tokenOwner(token: "aa")
      if isScript {
        _ = try await redis.ask(
          "EVAL", script, "1", owner, "unbind", "u1", "production", "com.example.other")
      } else {
        #expect(try await registry.replace(user: "u1", other, with: try binding("bb"), at: 100))
      }
      #expect(try await redis.ask("GET", owner) == "u1")
      _ = try await registry.bind(user: "u2", try binding("aa"), at: 200)
      #expect(try await redis.tokens("u1") == (isScript ? [] : ["bb"]))
      _ = try await registry.bind(user: "u2", other, at: 200)
      #expect(try await registry.unbind(user: "u2", other))
      #expect(try await redis.ask("GET", owner) == "u2")
      #expect(try await registry.unbind(user: "u2", try binding("aa")))
      #expect(try await redis.ask("GET", owner) == nil)
    }
  }

  @Test func profilesAreSetFieldByField() async throws {
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      try await registry.change(
        profileOf: "u1", ProfilePatch([("locale", "ja"), ("name", "さくら")]))
      try await registry.change(profileOf: "u1", ProfilePatch([("badge", "3"), ("locale", "")]))
      #expect(
        try await redis.table(keyspace.profile(user: "u1")) == ["name": "さくら", "badge": "3"])
      try await registry.change(profileOf: "u1", ProfilePatch([]))
    }
  }

  @Test func followsAreCountedExactly() async throws {
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      #expect(try await !registry.unfollow(streamer: "s1", user: "u1"))
      #expect(try await redis.keys() == [])
      #expect(try await registry.follow(streamer: "s1", user: "u1"))
      #expect(try await !registry.follow(streamer: "s1", user: "u1"))
      #expect(try await registry.follow(streamer: "s1", user: "u2"))
      #expect(try await registry.unfollow(streamer: "s1", user: "u1"))
      #expect(try await !registry.unfollow(streamer: "s1", user: "u1"))
      #expect(try await redis.followers("s1") == ["u2"])
      #expect(
        try await redis.table(keyspace.followers(of: "s1"))
          == ["shards": "1", "generation": "0", "followers": "1"])
      // Placed by shard where there are several.
      _ = try await redis.ask(
        "HSET", keyspace.followers(of: "s2"), "shards", "8", "generation", "5", "followers", "0")
      for index in 0..<40 { _ = try await registry.follow(streamer: "s2", user: "u\(index)") }
      #expect(try await redis.followers("s2").count == 40)
    }
  }

  @Test func wrongValuesAreRefusedWithAReason() async throws {
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      let device = try binding("aa")
      for user in ["", "a{b", "a\nb", String(repeating: "x", count: 129)] {
        #expect(
          await failure { try await registry.bind(user: user, device, at: 1) }?.code == .invalid)
        #expect(
          await failure { try await registry.follow(streamer: "s", user: user) }?.code == .invalid)
        #expect(
          await failure { try await registry.follow(streamer: user, user: "u") }?.code == .invalid)
      }
      #expect(
        await failure { try await registry.follow(streamer: "s:1:2", user: "u") }?.code == .invalid)
      #expect(try await redis.keys() == [])
    }
  }

  @Test func anotherTypeIsNamedAndLeftAloneAndNoTokenIsTold() async throws {
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      let token = String(repeating: "ab", count: 32)
      let device = try binding(token)
      let keys = [
        keyspace.tokenOwner(token: token), keyspace.bindings(user: "u1"),
        keyspace.bound(user: "u1"), keyspace.quarantined(user: "u1"),
      ]
      for key in keys {
        _ = try await redis.ask("FLUSHALL")
        _ = try await redis.ask("LPUSH", key, "something else")
        let error = await failure { try await registry.bind(user: "u1", device, at: 1) }
        #expect(error?.code == .redis(.wrongType))
        #expect(error?.description.contains(token) == false)
        // The token may have its owner's name on it by then, and nothing else is written.
        let owner = keyspace.tokenOwner(token: token)
        #expect(try await redis.keys().filter { $0 != owner || key == owner } == [key])
      }
      _ = try await redis.ask("FLUSHALL")
      _ = try await redis.ask("SET", keyspace.followers(of: "s1"), "x")
      let error = await failure { try await registry.follow(streamer: "s1", user: "u1") }
      #expect(error?.code == .redis(.wrongType))
      for nonsense in [
        ["shards", "3"], ["shards", "x"], ["generation", "-1"], ["next", "soon"],
      ] {
        _ = try await redis.ask("FLUSHALL")
        _ = try await redis.ask(
          "HSET", keyspace.followers(of: "s1"), "shards", "2", "generation", "1")
        _ = try await redis.ask("HSET", keyspace.followers(of: "s1"), nonsense[0], nonsense[1])
        let error = await failure { try await registry.follow(streamer: "s1", user: "u1") }
        #expect(error?.code == .badContent, "\(nonsense)")
      }
    }
  }
}
