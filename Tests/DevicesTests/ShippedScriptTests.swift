import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Devices

/// `Config/redis`: what backends in other languages send.
@Suite struct ShippedScriptTests {
  private static func evaluate(
    _ redis: RedisClient, _ script: String, _ keys: [String], _ arguments: [String]
  ) async throws -> String? {
    let replies = try await redis.execute(
      RedisPipeline(["EVAL", script, String(keys.count)] + keys + arguments))
    return replies[0].errorText ?? replies[0].integer.map { String($0) }
  }

  @Test func followsStandWhereWeLookForThem() async throws {
    let script = try shippedScript("follow.lua")
    try await RedisFixture().run { redis async throws in
      let heading = keyspace.followers(of: "s1")
      _ = try await redis.ask("HSET", heading, "shards", "16", "generation", "3")
      let users = (0..<300).map { "user-\($0)" } + ["さくら", "a b", "é", "1"]
      for user in users {
        #expect(try await Self.evaluate(redis, script, [heading], ["follow", user]) == "1")
      }
      #expect(try await Self.evaluate(redis, script, [heading], ["follow", "1"]) == "0")
      #expect(try await redis.followers("s1") == users.sorted())
      #expect(try await redis.ask("HGET", heading, "followers") == "304")
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      for user in users { #expect(try await registry.unfollow(streamer: "s1", user: user)) }
      #expect(try await redis.ask("HGET", heading, "followers") == "0")
    }
  }

  /// A time in other units would make the binding older than any 410, or younger.
  @Test(arguments: [
    ("1700000000", "and 1700000000 ms is 1970-01-20: give milliseconds"), ("0", "is 1970-01-01"),
    ("1243814399999", "is 2009-05-31"), ("1700000000000000", "is 55840-11-08"),
    ("-1", "is 1969-12-31"), ("4102444800001", "is 2100-01-01"),
  ])
  func aTimeThatCannotBeIsRefusedWithTheDayThatItIs(_ time: String, _ words: String) async throws {
    let script = try shippedScript("bind.lua")
    try await RedisFixture().run { redis async throws in
      let reply = try await Self.evaluate(
        redis, script, [keyspace.tokenOwner(token: "aa")],
        ["bind", "u1", "production", "a.b", time])
      #expect(reply?.hasPrefix("ERR ") == true && reply?.contains(words) == true, "\(reply ?? "")")
      #expect(try await redis.keys() == [])
    }
  }

  /// As the API and the verbs take it.
  @Test(arguments: [3_600, 2_000_000_000] as [Int64])
  func aTimeThatIsAheadIsNow(seconds: Int64) async throws {
    let script = try shippedScript("bind.lua")
    try await RedisFixture().run { redis async throws in
      let now = Int64(try await redis.ask("EVAL", "return redis.call('TIME')[1]", "0") ?? "") ?? 0
      let bound = keyspace.bound(user: "u1")
      let member = "apns:production:a.b:aa"
      // What stands there from the far future is no time.
      _ = try await redis.ask("HSET", bound, member, String((now + 800_000) * 1000))
      let reply = try await Self.evaluate(
        redis, script, [keyspace.tokenOwner(token: "aa")],
        ["bind", "u1", "production", "a.b", String((now + seconds) * 1000)])
      #expect(reply == "1")
      let at = Int64(try await redis.ask("HGET", bound, member) ?? "") ?? 0
      #expect(at >= now * 1000 && at < (now + 3000) * 1000)
    }
  }

  /// A time that is given is when it was bound: who has bound the token since keeps it.
  @Test func aBindThatIsToldTooLateTakesNothing() async throws {
    let script = try shippedScript("bind.lua")
    try await RedisFixture().run { redis async throws in
      let key = [keyspace.tokenOwner(token: "aa")]
      func bind(_ user: String, _ more: String...) async throws -> String? {
        try await Self.evaluate(redis, script, key, ["bind", user, "production", "a.b"] + more)
      }
      #expect(try await bind("u1", "1790000002000") == "1")
      #expect(try await bind("u2", "1790000001999") == "-1")
      #expect(try await redis.tokens("u1") == ["aa"])
      #expect(try await redis.ask("GET", key[0]) == "u1")
      #expect(try await bind("u2", "1790000002000") == "1")
      #expect(try await redis.tokens("u1") == [])
      #expect(try await redis.tokens("u2") == ["aa"])
      #expect(try await bind("u1") == "1")
    }
  }

  /// It would keep everybody else's belated words away for good.
  @Test(arguments: ["1790000002000000", "1790000002"])
  func aTimeInOtherUnitsKeepsNobodyAway(boundAt: String) async throws {
    let script = try shippedScript("bind.lua")
    try await RedisFixture().run { redis async throws in
      func own() async throws {
        _ = try await redis.ask("SET", keyspace.tokenOwner(token: "aa"), "u1")
        _ = try await redis.ask(
          "HSET", keyspace.bound(user: "u1"), "apns:production:a.b:aa", boundAt)
      }
      try await own()
      let reply = try await Self.evaluate(
        redis, script, [keyspace.tokenOwner(token: "aa")],
        ["bind", "u2", "production", "a.b", "1790000002000"])
      #expect(reply == "1")
      try await own()
      try await DeviceRegistry(redis: redis, keyspace: keyspace)
        .bind(user: "u3", try binding("aa", "a.b"), at: 1_790_000_002_000, isBelated: true)
      #expect(try await redis.tokens("u3") == ["aa"])
    }
  }

  @Test func aUserHasABoundedNumberOfDevices() async throws {
    let script = try shippedScript("bind.lua")
    try await RedisFixture().run { redis async throws in
      let members = (0..<1_000).map { "apns:production:a.b:\(0x1000 + $0)" }
      _ = try await redis.execute(
        RedisPipeline(["SADD", keyspace.bindings(user: "u1")] + members))
      func bind(_ token: String) async throws -> String? {
        try await Self.evaluate(
          redis, script, [keyspace.tokenOwner(token: token)], ["bind", "u1", "production", "a.b"])
      }
      #expect(try await bind("aa")?.contains("at most 1000 are taken") == true)
      #expect(try await redis.ask("EXISTS", keyspace.tokenOwner(token: "aa")) == "0")
      #expect(try await bind("4096") == "0")
    }
  }

  @Test func aNewStreamerGetsAHeadingOrAPlainSet() async throws {
    let script = try shippedScript("follow.lua")
    try await RedisFixture().run { redis async throws in
      let heading = keyspace.followers(of: "s1")
      #expect(try await Self.evaluate(redis, script, [heading], ["unfollow", "u"]) == "0")
      #expect(try await redis.keys() == [])
      #expect(try await Self.evaluate(redis, script, [heading], ["follow", "u"]) == "1")
      #expect(
        try await redis.table(heading)
          == ["shards": "1", "generation": "0", "followers": "1"])
      #expect(try await redis.followers("s1") == ["u"])
      #expect(try await Self.evaluate(redis, script, [heading], ["unfollow", "u"]) == "1")
      let other = [keyspace.followers(of: "s2"), "followers:s2"]
      #expect(try await Self.evaluate(redis, script, other, ["follow", "u"]) == "1")
      #expect(try await redis.members("followers:s2") == ["u"])
      #expect(try await redis.ask("EXISTS", other[0]) == "0")
      // Divided, the plain set is left alone.
      _ = try await AudienceSharding(redis: redis, keyspace: keyspace)
        .run(streamer: "s2", from: .plain(key: "followers:s2"))
      #expect(try await Self.evaluate(redis, script, other, ["follow", "v"]) == "1")
      #expect(try await redis.members("followers:s2") == ["u"])
      #expect(try await redis.followers("s2") == ["u", "v"])
    }
  }

  @Test func aTokenBelongsToOneUser() async throws {
    let script = try shippedScript("bind.lua")
    try await RedisFixture().run { redis async throws in
      let key = keyspace.tokenOwner(token: "aa11")
      func bind(_ user: String, _ environment: String, at: String...) async throws -> String? {
        try await Self.evaluate(
          redis, script, [key], ["bind", user, environment, "com.example.live"] + at)
      }
      let member = "apns:production:com.example.live:aa11"
      #expect(try await bind("u1", "sandbox", at: "1700000000100") == "1")
      _ = try await redis.ask(
        "HSET", keyspace.quarantined(user: "u2"), member, "BadDeviceToken")
      #expect(try await bind("u2", "production", at: "1767225600123") == "1")
      #expect(try await bind("u2", "production", at: "1767225600000") == "0")
      #expect(try await redis.tokens("u1") == [])
      #expect(try await redis.ask("EXISTS", keyspace.bound(user: "u1")) == "0")
      #expect(try await redis.members(keyspace.bindings(user: "u2")) == [member])
      #expect(try await redis.table(keyspace.bound(user: "u2")) == [member: "1767225600123"])
      #expect(try await redis.ask("EXISTS", keyspace.quarantined(user: "u2")) == "0")
      #expect(try await redis.ask("GET", key) == "u2")
      // It is what the registry writes.
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      #expect(try await registry.unbind(user: "u2", try binding("aa11")))
      #expect(try await redis.keys() == [])
      #expect(try await bind("u1", "production") == "1")
      let now = try await redis.ask("HGET", keyspace.bound(user: "u1"), member)
      #expect(try #require(Int64(now ?? "")) > 1_700_000_000_000)
      #expect(
        try await Self.evaluate(
          redis, script, [key], ["unbind", "u1", "production", "com.example.live"]) == "1")
      #expect(try await redis.keys() == [])
    }
  }

  /// `bind.lua` says the limits of `Binding` and of ids again.
  @Test func theLimitsAreOurs() async throws {
    let script = try shippedScript("bind.lua")
    @Sendable func text(_ count: Int) -> String { String(repeating: "a", count: count) }
    try await RedisFixture().run { redis async throws in
      func binds(user: Int = 1, token: Int = 2, topic: Int = 1) async throws -> Bool {
        let reply = try await Self.evaluate(
          redis, script, [keyspace.tokenOwner(token: text(token))],
          ["bind", text(user), "production", text(topic)])
        return reply?.hasPrefix("ERR ") == false
      }
      func ours(user: Int = 1, token: Int = 2, topic: Int = 1) -> Bool {
        Keyspace.isIdentifier(text(user))
          && Binding(destination: .production, topic: text(topic), token: text(token)) != nil
      }
      let most = Platform.apns.tokens.maximumBytes
      for token in [1, 2, 3, most, most + 2] {
        #expect(try await binds(token: token) == ours(token: token), "\(token) digits")
      }
      for topic in [1, Binding.maximumTopicBytes, Binding.maximumTopicBytes + 1] {
        #expect(try await binds(topic: topic) == ours(topic: topic), "a topic of \(topic)")
      }
      for user in [1, Keyspace.maximumIdentifierBytes, Keyspace.maximumIdentifierBytes + 1] {
        #expect(try await binds(user: user) == ours(user: user), "an id of \(user)")
      }
    }
  }

  @Test func whatIsWrongIsRefusedAndNothingIsWritten() async throws {
    let follow = try shippedScript("follow.lua")
    let bind = try shippedScript("bind.lua")
    try await RedisFixture().run { redis async throws in
      let heading = keyspace.followers(of: "s1")
      let owner = keyspace.tokenOwner(token: "aa")
      let wrong: [(String, String, [String])] = [
        (follow, "ffd:s1", ["follow", "u"]), (follow, "ffd:{f:s:1:0}", ["follow", "u"]),
        (follow, heading, ["folow", "u"]), (follow, heading, ["follow"]),
        (follow, heading, ["follow", "a\nb"]), (follow, heading, ["follow", "a}"]),
        (follow, heading, ["follow", String(repeating: "x", count: 129)]),
        (bind, "ffd:{t:AA}", ["bind", "u", "production", "com.example"]),
        (bind, "ffd:{t:abc}", ["bind", "u", "production", "com.example"]),
        (bind, owner, ["bind", "", "production", "com.example"]),
        (bind, owner, ["bind", "u", "prod", "com.example"]),
        (bind, owner, ["bind", "u", "production", "com:example"]),
        (bind, owner, ["bind", "u", "production", "com.example", "soon"]),
        (bind, owner, ["bind", "u", "production", "com.example", "inf"]),
        (bind, owner, ["bind", "u", "production", "com.example", "-inf"]),
        (bind, owner, ["bind", "u", "production", "com.example", "nan"]),
        (bind, owner, ["bind", "u", "production", "com.example", "1e30"]),
        (bind, owner, ["take", "u", "production", "com.example"]),
      ]
      for (script, key, arguments) in wrong {
        let reply = try await Self.evaluate(redis, script, [key], arguments)
        #expect(reply?.hasPrefix("ERR ") == true, "\(key) \(arguments) \(reply ?? "")")
        #expect(reply?.contains("user_script") == false, "\(reply ?? "")")
      }
      #expect(try await redis.keys() == [])
      _ = try await redis.ask("SET", "ffd:{f:s1:0:0}", "x")
      _ = try await redis.ask("SET", keyspace.bound(user: "u"), "x")
      #expect(
        try await Self.evaluate(redis, follow, [heading], ["follow", "u"])?
          .hasPrefix("WRONGTYPE") == true)
      #expect(
        try await Self.evaluate(
          redis, bind, [owner], ["bind", "u", "production", "com.example"])?
          .hasPrefix("WRONGTYPE") == true)
      #expect(try await redis.keys().count == 2)
    }
  }
}
