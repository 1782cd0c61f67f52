import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Devices
@testable import Tokens

/// A platform whose tokens may hold colons: `x:one` ends as `one` does, and is another token.
@Suite struct ColonTokenTests {
  private static let platform = Destination.add(
    Platform(name: "colon", tokens: .opaque(maximumBytes: 64)))[0]
  private static let earlier: Int64 = 1_767_225_600_000

  private static func binding(_ token: String) throws -> Binding {
    try #require(Binding(destination: platform, topic: "a.b", token: token))
  }

  private struct Users {
    let redis: RedisClient
    var registry: DeviceRegistry { DeviceRegistry(redis: redis, keyspace: keyspace) }

    func bind(_ user: String, _ tokens: String..., after seconds: Int64 = 0) async throws {
      for token in tokens {
        try await registry.bind(
          user: user, try ColonTokenTests.binding(token),
          at: ColonTokenTests.earlier + seconds * 1000)
      }
    }

    func expect(
      _ user: String, has tokens: [String], _ place: SourceLocation = #_sourceLocation
    ) async throws {
      let bound = try await registry.devices(of: user).bound.map(\.binding.token)
      #expect(bound.sorted() == tokens, sourceLocation: place)
    }

    func owner(_ token: String) async throws -> String? {
      try await redis.ask("GET", keyspace.tokenOwner(token: token))
    }
  }

  private static func run(_ body: @Sendable @escaping (Users) async throws -> Void) async throws {
    try await RedisFixture().run { redis async throws in try await body(Users(redis: redis)) }
  }

  @Test func aLogoutTakesOneTokenAndFreesIt() async throws {
    try await Self.run { users in
      try await users.bind("u1", "one", "x:one")
      #expect(try await users.registry.unbind(user: "u1", try Self.binding("one")))
      try await users.expect("u1", has: ["x:one"])
      #expect(try await users.owner("one") == nil)
      #expect(try await users.owner("x:one") == "u1")
      #expect(try await users.registry.unbind(user: "u1", token: "x:one") == 1)
      #expect(try await users.owner("x:one") == nil)
    }
  }

  @Test func aTokenThatMovesLeavesTheOther() async throws {
    try await Self.run { users in
      try await users.bind("u1", "one", "x:one")
      try await users.bind("u2", "one")
      try await users.expect("u1", has: ["x:one"])
      try await users.expect("u2", has: ["one"])
    }
  }

  @Test func aReplacedTokenGetsFree() async throws {
    try await Self.run { users in
      try await users.bind("u1", "x:one")
      let (old, new) = (try Self.binding("x:one"), try Self.binding("y:one"))
      #expect(try await users.registry.replace(user: "u1", old, with: new, at: Self.earlier))
      try await users.expect("u1", has: ["y:one"])
      #expect(try await users.owner("x:one") == nil)
      #expect(try await users.owner("y:one") == "u1")
    }
  }

  @Test func aMoveThatWasOvertakenTakesNothing() async throws {
    try await Self.run { users in
      try await users.bind("u1", "x:one")
      let moves = TokenMoves(redis: users.redis, keyspace: keyspace)
      let late = try #require(try await moves.claim([("x:one", "u1")])[0])
      try await users.bind("u2", "x:one")
      let answer = try await users.redis.reply(
        to: DeviceScripts.take, keys: keyspace.movingKeys(user: "u1"),
        arguments: DeviceScripts.lifetimes + ["at": "100"],
        list: [try Self.binding("x:one").member, late.number, "0"])
      #expect(answer.count == 2)
      try await users.expect("u1", has: [])
    }
  }

  /// The other token's time says nothing of this one.
  @Test func aRegistrationToldLaterIsOvertakenByItsOwnTokenAlone() async throws {
    try await Self.run { users in
      try await users.bind("u1", "one")
      try await users.bind("u1", "x:one", after: 20)
      let binding = try Self.binding("one")
      try await users.registry.bind(
        user: "u2", binding, at: Self.earlier + 10_000, isBelated: true)
      try await users.expect("u1", has: ["x:one"])
      try await users.expect("u2", has: ["one"])
    }
  }

  /// `bind.lua` knows only APNs' tokens, and meets those of others.
  @Test func theShippedScriptLeavesTheOther() async throws {
    let script = try bindScript()
    try await Self.run { users in
      try await users.bind("u1", "x:00ff")
      for user in ["u1", "u2"] {
        _ = try await users.redis.ask(
          "EVAL", script, "1", keyspace.tokenOwner(token: "00ff"), "bind", user, "production",
          "a.b")
      }
      try await users.expect("u1", has: ["x:00ff"])
      try await users.expect("u2", has: ["00ff"])
    }
  }
}
