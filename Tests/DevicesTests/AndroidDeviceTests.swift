import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Devices

/// Devices with a token of Firebase: the same rules, another form of token.
@Suite struct AndroidDeviceTests {
  private static let app = "com.example.live"
  private static let token = "dQw4w9:APA91b_x-Y"

  private static func binding(_ token: String = token) throws -> Binding {
    try #require(Binding(destination: .fcm, topic: app, token: token))
  }

  @Test func aTokenIsKeptAsItIsAndBelongsToOneUser() async throws {
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      let apple = try #require(Binding(destination: .production, topic: Self.app, token: "aabb"))
      try await registry.bind(user: "u1", Self.binding(), at: 1_790_000_000_000)
      try await registry.bind(user: "u1", apple, at: 1_790_000_000_000)
      let member = "fcm:\(Self.app):\(Self.token)"
      #expect(
        try await redis.members(keyspace.bindings(user: "u1"))
          == ["apns:production:\(Self.app):aabb", member])
      #expect(try await redis.ask("GET", keyspace.tokenOwner(token: Self.token)) == "u1")
      try await registry.bind(user: "u2", Self.binding(), at: 1_790_000_000_001)
      #expect(
        try await redis.members(keyspace.bindings(user: "u1"))
          == ["apns:production:\(Self.app):aabb"])
      #expect(try await redis.members(keyspace.bindings(user: "u2")) == [member])
      #expect(try await registry.unbind(user: "u2", token: Self.token) == 1)
      #expect(try await redis.members(keyspace.bindings(user: "u2")) == [])
      #expect(try await redis.ask("GET", keyspace.tokenOwner(token: Self.token)) == nil)
    }
  }

  /// `bind.lua`, as a backend sends it.
  @Test func theShippedScriptBindsAndUnbindsIt() async throws {
    let script = try shippedScript("bind.lua")
    try await RedisFixture().run { redis async throws in
      func run(_ words: String...) async throws -> String? {
        let reply = try await redis.execute(
          RedisPipeline(
            ["EVAL", script, "1", keyspace.tokenOwner(token: Self.token)] + words + [Self.app]))[0]
        return reply.errorText ?? reply.integer.map { String($0) }
      }
      let members = keyspace.bindings(user: "u1")
      #expect(try await run("bind", "u1", "fcm") == "1")
      #expect(try await redis.members(members) == ["fcm:\(Self.app):\(Self.token)"])
      #expect(try await run("bind", "u2", "fcm") == "1")
      #expect(try await redis.members(members) == [])
      #expect(try await run("unbind", "u2", "fcm") == "1")
      #expect(try await redis.keys() == [])
      #expect(try await run("bind", "u1", "production")?.contains("lower-case hex") == true)
      #expect(
        try await run("bind", "u1", "gcm")?.contains("production, sandbox, fcm or webpush") == true)
    }
  }

  @Test(arguments: [
    ("{b}", false), ("a b", false), ("é", false), ("", false), ("a:b/c?d=%7B|~", true),
    (String(repeating: "x", count: 4096), true), (String(repeating: "x", count: 4097), false),
  ])
  func aTokenIsVisibleASCIIWithoutBraces(token: String, isOne: Bool) {
    let given = try? Given.binding(token: token, topic: Self.app, environment: .fcm)
    #expect((given != nil) == isOne && given?.token ?? token == token)
  }

  @Test func anImportNamesThePlatform() throws {
    let reader = ImportRowReader(defaultTopic: Self.app, now: 7)
    func members(_ device: String) -> String {
      do {
        let row = try reader.read(Array(#"{"user":"u","devices":[\#(device)]}"#.utf8))
        return row.rows.flatMap(\.bindings).map(\.member).joined(separator: " ")
      } catch {
        return error.reason
      }
    }
    #expect(
      members(#"{"platform":"fcm","token":"\#(Self.token)"}"#) == "fcm:\(Self.app):\(Self.token)")
    #expect(members(#"{"platform":"apns","token":"AABB"}"#) == "apns:production:\(Self.app):aabb")
    #expect(members(#"{"platform":"gcm","token":"a"}"#).contains(#"is "apns", "fcm" or "webpush""#))
    #expect(
      members(#"{"platform":"fcm","environment":"sandbox","token":"a"}"#)
        .contains("for platform apns only"))
    #expect(members(#"{"environment":"fcm","token":"aa"}"#).contains("production"))
  }
}
