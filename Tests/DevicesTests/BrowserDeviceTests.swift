import Fixtures
import Keyspace
import Model
import Redis
import Subscriptions
import Testing

@testable import Devices

/// Browsers' subscriptions: an endpoint belongs to one user, and new keys replace the old ones.
@Suite struct BrowserDeviceTests {
  private static let app = "com.example.live"
  private static let endpoint = "https://updates.push.services.mozilla.com/wpush/v2/gAAA:x"
  private static let p256dh =
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
  private static let old = "\(p256dh).BTBZMqHH6r4Tts7J_aSIgg.main"
  private static let new = "\(p256dh).DGv6ra1nlYgDCS1FRnbzlw.main"
  private static let time: Int64 = 1_790_000_000_000

  private static func binding(
    _ keys: String, topic: String = app, endpoint: String = endpoint
  ) throws -> Binding {
    try #require(Binding(destination: .webpush, topic: topic, keys: keys, token: endpoint))
  }

  @Test func newKeysTakeThePlaceOfTheOldInTheirAppAlone() async throws {
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      let other = try Self.binding(Self.old, topic: "com.example.other")
      try await registry.bind(user: "u1", Self.binding(Self.old), at: Self.time)
      try await registry.bind(user: "u1", other, at: Self.time)
      #expect(try await registry.bind(user: "u1", Self.binding(Self.new), at: Self.time + 1))
      let members = try await redis.members(keyspace.bindings(user: "u1"))
      #expect(try members == [Self.binding(Self.new).member, other.member].sorted())
      #expect(try await redis.ask("HLEN", keyspace.bound(user: "u1")) == "2")
      #expect(try await registry.unbind(user: "u1", token: Self.endpoint) == 2)
      #expect(try await redis.members(keyspace.bindings(user: "u1")) == [])
      #expect(try await redis.ask("GET", keyspace.tokenOwner(token: Self.endpoint)) == nil)
    }
  }

  @Test func olderKeysTakeThePlaceOfNoYoungerOnes() async throws {
    let script = try shippedScript("bind.lua")
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      let members = keyspace.bindings(user: "u1")
      try await registry.bind(user: "u1", Self.binding(Self.new), at: Self.time)
      try await registry.bind(
        user: "u1", Self.binding(Self.old), at: Self.time - 1, isBelated: true)
      #expect(try await redis.members(members) == [Self.binding(Self.new).member])
      let other = try Self.binding(Self.old, endpoint: Self.endpoint + "2")
      try await registry.bind(user: "u1", other, at: Self.time - 2)
      _ = try await registry.replace(
        user: "u1", other, with: Self.binding(Self.old), at: Self.time - 1)
      #expect(try await redis.members(members) == [Self.binding(Self.new).member])
      let reply = try await redis.execute(
        RedisPipeline([
          "EVAL", script, "1", keyspace.tokenOwner(token: Self.endpoint), "bind", "u1", "webpush",
          Self.app, String(Self.time - 1), Self.old,
        ]))[0]
      #expect(reply.integer == 0)
      #expect(try await redis.members(members) == [Self.binding(Self.new).member])
    }
  }

  @Test func anotherUserTakesItWhateverItsKeys() async throws {
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      try await registry.bind(user: "u1", Self.binding(Self.old), at: Self.time)
      try await registry.bind(user: "u2", Self.binding(Self.new), at: Self.time + 1)
      #expect(try await redis.members(keyspace.bindings(user: "u1")) == [])
      #expect(
        try await redis.members(keyspace.bindings(user: "u2"))
          == [Self.binding(Self.new).member])
    }
  }

  /// A browser that subscribed again tells the endpoint that it had, not its keys.
  @Test func theFormerEndpointIsReplacedWhateverItsKeys() async throws {
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      let next = Self.endpoint + "2"
      try await registry.bind(user: "u1", Self.binding(Self.old), at: Self.time)
      #expect(
        try await registry.replace(
          user: "u1", Self.binding(Self.new), with: Self.binding(Self.new, endpoint: next),
          at: Self.time + 1))
      #expect(
        try await redis.members(keyspace.bindings(user: "u1"))
          == [Self.binding(Self.new, endpoint: next).member])
      #expect(try await redis.ask("GET", keyspace.tokenOwner(token: Self.endpoint)) == nil)
      #expect(try await redis.ask("GET", keyspace.tokenOwner(token: next)) == "u1")
    }
  }

  /// As many as a user may have, one of which is a browser's.
  private static func fill(_ redis: RedisClient) async throws {
    let members = (1..<AudienceRow.maximumBindings).map { "apns:production:a.b:\(0x1000 + $0)" }
    _ = try await redis.execute(
      RedisPipeline(["SADD", keyspace.bindings(user: "u1"), try binding(old).member] + members))
  }

  @Test func newKeysNeedNoPlaceOfTheirOwn() async throws {
    let script = try shippedScript("bind.lua")
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      let bindings = keyspace.bindings(user: "u1")
      try await Self.fill(redis)
      let other = try Self.binding(Self.new, topic: "com.example.other")
      do {
        _ = try await registry.bind(user: "u1", other, at: Self.time)
        Issue.record("one device too many was bound")
      } catch {
        #expect(error is DevicesError)
      }
      #expect(try await registry.bind(user: "u1", Self.binding(Self.new), at: Self.time))
      #expect(try await redis.ask("SCARD", bindings) == "1000")
      // The former endpoint is told without its keys.
      let next = try Self.binding(Self.new, endpoint: Self.endpoint + "2")
      #expect(
        try await registry.replace(
          user: "u1", Self.binding(Self.old), with: next, at: Self.time + 1))
      #expect(try await redis.ask("SCARD", bindings) == "1000")
      func run(_ keys: String, _ endpoint: String) async throws -> String? {
        let reply = try await redis.execute(
          RedisPipeline([
            "EVAL", script, "1", keyspace.tokenOwner(token: endpoint), "bind", "u1", "webpush",
            Self.app, "", keys,
          ]))[0]
        return reply.errorText ?? reply.integer.map { String($0) }
      }
      #expect(try await run(Self.old, next.token) == "1")
      #expect(try await run(Self.old, Self.endpoint)?.contains("at most 1000") == true)
      #expect(try await redis.ask("SCARD", bindings) == "1000")
    }
  }

  @Test func anImportCountsNewKeysAsTheOldOnes() async throws {
    try await RedisFixture().run { redis async throws in
      let writer = AudienceWriter(redis: redis, keyspace: keyspace)
      try await Self.fill(redis)
      for (line, endpoint) in [Self.endpoint, Self.endpoint + "2"].enumerated() {
        let binding = try Self.binding(Self.new, endpoint: endpoint)
        try await writer.append(
          AudienceRow(user: "u1", profile: [], bindings: [binding], boundAt: Self.time), line: line)
      }
      try await writer.finish()
      let members = try await redis.members(keyspace.bindings(user: "u1"))
      #expect(try members.contains(Self.binding(Self.new).member) && members.count == 1_000)
      #expect(writer.takeRefused().map(\.line) == [1])
    }
  }

  /// `bind.lua`, as a backend sends it.
  @Test func theShippedScriptBindsAndUnbindsIt() async throws {
    let script = try shippedScript("bind.lua")
    try await RedisFixture().run { redis async throws in
      func run(_ words: String...) async throws -> String? {
        let reply = try await redis.execute(
          RedisPipeline(["EVAL", script, "1", keyspace.tokenOwner(token: Self.endpoint)] + words))[
            0]
        return reply.errorText ?? reply.integer.map { String($0) }
      }
      let members = keyspace.bindings(user: "u1")
      #expect(try await run("bind", "u1", "webpush", Self.app, "", Self.old) == "1")
      #expect(try await redis.members(members) == [Self.binding(Self.old).member])
      #expect(try await run("bind", "u1", "webpush", Self.app, "", Self.old) == "0")
      #expect(try await run("bind", "u1", "webpush", Self.app, "", Self.new) == "1")
      #expect(try await redis.members(members) == [Self.binding(Self.new).member])
      #expect(try await run("unbind", "u1", "webpush", Self.app) == "1")
      #expect(try await redis.keys() == [])
      for keys in ["", "a.b.c", Self.old + ".{x}", String(Self.old.dropFirst())] {
        #expect(
          try await run("bind", "u1", "webpush", Self.app, "", keys)?.contains("the keys must be")
            == true)
      }
      #expect(
        try await run("bind", "u1", "fcm", Self.app, "", Self.old)?.contains("have keys") == true)
    }
  }

  @Test func anImportTakesWhatTheBrowserWrites() throws {
    let reader = ImportRowReader(
      defaultTopic: Self.app, now: 7, rules: SubscriptionRules(keyIDs: ["main", "2025"]))
    func members(_ device: String) -> String {
      do {
        let row = try reader.read(Array(#"{"user":"u","devices":[\#(device)]}"#.utf8))
        return row.rows.flatMap(\.bindings).map(\.member).joined(separator: " ")
      } catch {
        return error.reason
      }
    }
    let keys = #""keys":{"p256dh":"\#(Self.p256dh)","auth":"BTBZMqHH6r4Tts7J_aSIgg"}"#
    let device = #"{"platform":"webpush","endpoint":"\#(Self.endpoint)",\#(keys)"#
    #expect(try members(device + "}") == Self.binding(Self.old).member)
    #expect(members(device + #","vapid_key":"2025"}"#).contains(".2025:https://"))
    #expect(members(device + #","vapid_key":"x"}"#).contains("no VAPID key pair"))
    #expect(members(device + #","token":"x"}"#).contains("has no member"))
    #expect(
      members(#"{"platform":"webpush","endpoint":"https://10.0.0.1/x",\#(keys)}"#)
        .contains("not an address"))
    #expect(members(#"{"platform":"webpush","token":"x"}"#).contains("has no member"))
  }
}
