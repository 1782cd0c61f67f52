import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Devices

/// What is left of a user who is forgotten.
@Suite struct UserErasureTests {
  /// One of everything, and a neighbour who has as much.
  @Sendable private static func write(_ redis: RedisClient, _ user: String = "u1") async throws {
    let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
    let mark = user == "u1" ? "1" : "2"
    let both = try binding("aa1\(mark)")
    for device in [both, try binding("bb1\(mark)"), try binding(both.token, "com.example.other")] {
      try await registry.bind(user: user, device, at: 100)
    }
    try await registry.change(profileOf: user, ProfilePatch([("name", "Aiko"), ("locale", "ja")]))
    let aside = try binding("cc1\(mark)")
    _ = try await redis.ask("HSET", keyspace.quarantined(user: user), aside.member, "BadToken 1")
    _ = try await redis.ask("SET", keyspace.tokenOwner(token: aside.token), user)
    _ = try await redis.ask("ZADD", keyspace.reached(user: user), "1", "event-1")
    _ = try await redis.ask("HSET", keyspace.verdicts(user: user), aside.member, "quarantined x")
    _ = try await redis.ask("HSET", keyspace.undated(user: user), both.member, "1 2 2")
    for streamer in ["s1", "s2", "s3"] {
      try await registry.follow(streamer: streamer, user: user)
    }
    for tag in ["beta", "s1"] { try await registry.tag(tag, users: [user]) }
  }

  private static func everything() -> UserErasure.Scope {
    var scope = UserErasure.Scope()
    scope.looksEverywhere = true
    return scope
  }

  /// All keys with what they hold, but for what remembers moves.
  private static func content(_ redis: RedisClient) async throws -> [String: String] {
    var content: [String: String] = [:]
    for key in try await redis.keys() {
      let kind = try await redis.ask("TYPE", key)
      switch kind {
      case "hash": content[key] = "\(try await redis.table(key).sorted { $0.key < $1.key })"
      case "set": content[key] = "\(try await redis.members(key))"
      case "string": content[key] = try await redis.ask("GET", key)
      default: content[key] = kind
      }
    }
    return content
  }

  @Test(arguments: RedisBed.Kind.allCases)
  func nothingIsLeftButTheNeighbour(_ kind: RedisBed.Kind) async throws {
    try await RedisBed(kind).run { redis async throws in
      try await Self.write(redis, "u2")
      let before = try await Self.content(redis)
      try await Self.write(redis)
      // A bind and a follow that died, and shards whose hash somebody deleted.
      _ = try await redis.ask("SET", keyspace.tokenOwner(token: "dd11"), "u1")
      _ = try await redis.ask("HSET", keyspace.tokenMoves(token: "ee11"), "number", "5", ":u1", "5")
      for key in ["ffd:{f:gone:3:0}", "ffd:{f:s1:7:0}", "ffd:{g:beta:7:0}"] {
        _ = try await redis.ask("SADD", key, "u1")
      }
      for part in 0...1 {
        let key = keyspace.trace(event: "e1", part: part)
        _ = try await redis.ask("HSET", key, "u1", "0:muted:a:0")
      }

      let erasure = UserErasure(redis: redis, keyspace: keyspace)
      let whole = try await Self.content(redis)
      let foreseen = try await erasure.run("u1", Self.everything(), writes: false)
      #expect(try await Self.content(redis) == whole)
      #expect(foreseen.devices == 3 && foreseen.setAside == 1 && foreseen.profileFields == 2)
      #expect(foreseen.traces == 2)
      #expect(foreseen.follows == 3 && foreseen.streamers == 3 && foreseen.isComplete)
      #expect(foreseen.tags == 2 && foreseen.tokens == 5 && foreseen.leftovers == 3)

      let counts = try await erasure.run("u1", Self.everything(), writes: true)
      #expect(counts.devices == 3 && counts.setAside == 1 && counts.profileFields == 2)
      #expect(counts.reached == 1 && counts.verdicts == 1 && counts.follows == 3)
      // Three of the user's own, and two that were the user's by name alone.
      #expect(counts.traces == 2)
      #expect(counts.tokens == 5 && counts.leftovers == 3 && counts.unreadable == 0)
      #expect(try await Self.content(redis) == before)
      #expect(try await redis.ask("HGET", keyspace.followers(of: "s1"), "followers") == "1")
      for token in ["aa11", "ee11"] {
        #expect(try await redis.table(keyspace.tokenMoves(token: token)).count == 1)
        #expect(try await redis.ask("TTL", keyspace.tokenMoves(token: token)) != "-1")
      }
      #expect(try await erasure.run("u1", Self.everything(), writes: true).isEmpty)
    }
  }

  @Test func whoIsNotLookedForIsLeftByName() async throws {
    try await RedisFixture().run { redis async throws in
      try await Self.write(redis)
      var scope = UserErasure.Scope()
      scope.streamers = ["s2", "s9"]
      let erasure = UserErasure(redis: redis, keyspace: keyspace)
      #expect(try await erasure.run("u1", scope, writes: false).follows == 1)
      let counts = try await erasure.run("u1", scope, writes: true)
      #expect(counts.follows == 1 && counts.streamers == 0)
      #expect(try await redis.followers("s1") == ["u1"])
      #expect(try await redis.followers("s2") == [])
      #expect(try await !DeviceRegistry(redis: redis, keyspace: keyspace).user("u1").isKnown)
      scope.streamers = ["s:1:2"]
      #expect(
        await failure { _ = try await erasure.run("u1", scope, writes: true) }?.code == .invalid)
      #expect(
        await failure { _ = try await erasure.run("a{", writes: false) }?.code == .invalid)
    }
  }

  /// Whoever dies at any moment leaves what the next run finds.
  @Test func aForgettingThatDiedIsFinishedByTheNext() async throws {
    let fixture = try RedisFixture()
    let server = fixture.server
    var answer = 0
    var isReached = true
    while isReached {
      answer += 1
      try server.cli("FLUSHALL")
      try await fixture.run { redis in try await Self.write(redis) }
      isReached =
        try await DyingClient.run(to: server, hearing: answer) { redis in
          _ = try await UserErasure(redis: redis, keyspace: keyspace)
            .run("u1", Self.everything(), writes: true)
        } > answer
      let what: Comment = "died after \(answer) answers"
      try await fixture.run { redis async throws in
        // The user's own keys find what is left of them: streamers alone have to be looked for.
        var scope = UserErasure.Scope()
        scope.streamers = ["s1", "s2", "s3"]
        _ = try await UserErasure(redis: redis, keyspace: keyspace).run("u1", scope, writes: true)
        for tag in ["beta", "s1"] {
          try await DeviceRegistry(redis: redis, keyspace: keyspace)
            .tag(tag, users: ["u1"], isOn: false)
        }
        let headings = try await redis.keys()
        #expect(
          headings == ["ffd:{f:s1}", "ffd:{f:s2}", "ffd:{f:s3}", "ffd:{g:beta}", "ffd:{g:s1}"], what
        )
        for token in ["aa11", "bb11", "cc11"] {
          #expect(try await redis.ask("TTL", keyspace.tokenMoves(token: token)) != "-1", what)
        }
        // The tokens are anybody's.
        let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
        #expect(try await registry.bind(user: "u3", try binding("aa11"), at: 1), what)
      }
    }
    #expect(answer > 6)
  }

  @Test func whoComesBackMeanwhileKeepsTheDevice() async throws {
    let fixture = try RedisFixture()
    let server = fixture.server
    try await fixture.run { redis in try await Self.write(redis) }
    // Dies when the user's keys have gone and no token is free yet.
    _ = try await DyingClient.run(to: server, hearing: 3) { redis in
      _ = try await UserErasure(redis: redis, keyspace: keyspace).run("u1", writes: true)
    }
    try await fixture.run { redis async throws in
      #expect(try await redis.tokens("u1") == [])
      #expect(try await redis.ask("HLEN", keyspace.bound(user: "u1")) == "4")
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      try await registry.bind(user: "u1", try binding("bb11"), at: 500)
      #expect(try await registry.devices(of: "u1").bound.map(\.boundAt) == [500])
    }
  }

  /// The last words of a run that is overtaken.
  @Test func whatHasBecomeNewMeanwhileStays() async throws {
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      let device = try binding("aa")
      try await registry.bind(user: "u1", device, at: 500)
      _ = try await redis.reply(
        to: ErasureScripts.finish, keys: Array(keyspace.deviceKeys(user: "u1").prefix(2)),
        list: [device.member, "another"])
      #expect(try await registry.devices(of: "u1").bound.map(\.boundAt) == [500])
      try await registry.follow(streamer: "u1", user: "a")
      let heading = keyspace.followers(of: "u1")
      func remove() async throws -> Int64? {
        _ = try await redis.ask("HSET", heading, "erasing", "0")
        return try await redis.reply(
          to: ErasureScripts.removeEmpty, keys: [heading],
          arguments: ["shards": "1", "generation": "0"]
        ).integer
      }
      #expect(try await remove() == 0)
      try await registry.unfollow(streamer: "u1", user: "a")
      _ = try await redis.ask("HSET", heading, "next", "1:1")
      #expect(try await remove() == 0)
      _ = try await redis.ask("HDEL", heading, "next")
      #expect(try await remove() == 1)
    }
  }

  /// What Redis refuses to look at was not looked at.
  @Test(arguments: ["hexists", "hdel", "sismember"])
  func whatMayNotBeLookedAtIsNoEnd(_ command: String) async throws {
    try await RedisFixture().run { redis async throws in
      _ = try await redis.ask("HSET", keyspace.trace(event: "e1", part: 0), "u1", "0:muted:a:0")
      _ = try await redis.ask("SADD", "ffd:{f:gone:3:0}", "u1")
      _ = try await redis.ask("HSET", keyspace.tokenMoves(token: "aa11"), "number", "1")
      _ = try await redis.ask("ACL", "SETUSER", "default", "-\(command)")
      let erasure = UserErasure(redis: redis, keyspace: keyspace)
      do {
        _ = try await erasure.run("u1", Self.everything(), writes: true)
        Issue.record("it says that it looked")
      } catch { #expect(error is DevicesError) }
    }
  }

  @Test func keysOfAnotherTypeGoAndStopNothing() async throws {
    try await RedisFixture().run { redis async throws in
      for key in keyspace.forgottenKeys(user: "u1") { _ = try await redis.ask("SET", key, "x") }
      _ = try await redis.ask("SET", keyspace.followers(of: "s1"), "x")
      _ = try await redis.ask("HSET", keyspace.followers(of: "s2"), "shards", "3")
      try await DeviceRegistry(redis: redis, keyspace: keyspace).follow(streamer: "s3", user: "u1")
      let erasure = UserErasure(redis: redis, keyspace: keyspace)
      #expect(try await erasure.run("u1", Self.everything(), writes: false).devices == 1)
      let counts = try await erasure.run("u1", Self.everything(), writes: true)
      #expect(counts.unreadable == 2 && counts.follows == 1)
      for key in keyspace.forgottenKeys(user: "u1") {
        #expect(try await redis.ask("EXISTS", key) == "0")
      }
    }
  }

  /// More devices than go in one step, and beside them a key that is no hash, or no set.
  @Test(arguments: [(many: 0, odd: 1), (many: 2, odd: 0)])
  func aLargeUserGoesBesideAKeyOfAnotherType(many: Int, odd: Int) async throws {
    try await RedisFixture().run { redis async throws in
      let keys = keyspace.deviceKeys(user: "u1")
      let members = try (0..<2_500).map { try binding(String(100_000 + $0)).member }
      let command =
        many == 0
        ? ["SADD", keys[0]] + members : ["HSET", keys[2]] + members.flatMap { [$0, "x"] }
      #expect(try await redis.execute(RedisPipeline(command))[0].integer == 2_500)
      _ = try await redis.ask("SET", keys[odd], "x")
      let counts = try await UserErasure(redis: redis, keyspace: keyspace)
        .run("u1", writes: true)
      #expect(counts.devices + counts.setAside == 2_500 && counts.tokens >= 2_500)
      for key in keys { #expect(try await redis.ask("EXISTS", key) == "0") }
    }
  }

  /// What others write after the first look is not read in one script.
  @Test func tooManyDevicesForOneStepAreLeftAlone() async throws {
    try await RedisFixture().run { redis async throws in
      let keys = keyspace.forgottenKeys(user: "u1")
      let members = try (0..<11).map { try binding(String(100_000 + $0)).member }
      _ = try await redis.execute(RedisPipeline(["SADD", keys[0]] + members))
      let refused = try await redis.reply(
        to: ErasureScripts.erase, keys: keys, arguments: ["maximum_devices": "10"])
      #expect(refused.count == 0)
      #expect(try await redis.ask("SCARD", keys[0]) == "11")
      let done = try await redis.reply(
        to: ErasureScripts.erase, keys: keys, arguments: ["maximum_devices": "11"])
      #expect(done[0].integer == 11 && done.count == 16)
      #expect(try await redis.ask("EXISTS", keys[0]) == "0")
    }
  }

  @Test(arguments: RedisBed.Kind.allCases)
  func theFollowersOfTheSameIdGoOnlyWhenAsked(_ kind: RedisBed.Kind) async throws {
    try await RedisBed(kind).run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      for user in ["a", "b"] { try await registry.follow(streamer: "u1", user: user) }
      try await registry.follow(streamer: "s1", user: "u1")
      let erasure = UserErasure(redis: redis, keyspace: keyspace)
      var scope = Self.everything()
      let kept = try await erasure.run("u1", scope, writes: true)
      #expect(kept.audience == 2 && !kept.hasErasedAudience && kept.follows == 1)
      #expect(try await redis.followers("u1") == ["a", "b"])
      scope.erasesAudience = true
      #expect(try await !erasure.run("u1", scope, writes: false).hasErasedAudience)
      let gone = try await erasure.run("u1", scope, writes: true)
      #expect(gone.audience == 2 && gone.hasErasedAudience)
      #expect(try await redis.keys() == ["ffd:{f:s1}"])
      // Who follows after that is a new follower.
      #expect(try await registry.follow(streamer: "u1", user: "c"))
      #expect(try await redis.followers("u1") == ["c"])
    }
  }

  @Test func itStopsWhenItIsTold() async throws {
    try await RedisFixture().run { redis async throws in
      try await Self.write(redis)
      let counts = try await UserErasure(redis: redis, keyspace: keyspace)
        .run("u1", Self.everything(), writes: true) { _ in false }
      #expect(!counts.isComplete)
    }
  }
}
