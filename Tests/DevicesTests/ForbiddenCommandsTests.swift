import Fixtures
import Keyspace
import Model
import Redis
import Testing
import Tokens

@testable import Devices

/// A Redis user who may not do all that the documentation asks for: what is refused was not begun.
@Suite struct ForbiddenCommandsTests {
  /// Two devices of one user, one of which was set aside.
  private static func write(_ redis: RedisClient) async throws {
    let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
    for token in ["aa11", "bb11"] {
      try await registry.bind(user: "u1", try binding(token), at: 100)
    }
    _ = try await redis.ask(
      "HSET", keyspace.quarantined(user: "u1"), try binding("cc11").member, "BadToken 1")
  }

  /// All that the user's devices and their tokens are.
  private static func content(_ redis: RedisClient) async throws -> [[String]] {
    let keys = keyspace.deviceKeys(user: "u1")
    var content = [try await redis.members(keys[0])]
    for key in keys[1...] {
      content.append(try await redis.table(key).map { "\($0)=\($1)" }.sorted())
    }
    for token in ["aa11", "bb11", "cc11"] {
      content.append([try await redis.ask("GET", keyspace.tokenOwner(token: token)) ?? "-"])
    }
    return content
  }

  enum Step: Sendable { case unbind, forget, forgetAPage }

  private static func take(_ step: Step, _ redis: RedisClient) async throws {
    switch step {
    case .unbind:
      _ = try await DeviceRegistry(redis: redis, keyspace: keyspace)
        .unbind(user: "u1", token: "aa11")
    case .forget:
      _ = try await UserErasure(redis: redis, keyspace: keyspace).run("u1", writes: true)
    case .forgetAPage:
      _ = try await redis.reply(
        to: ErasureScripts.drop, keys: keyspace.deviceKeys(user: "u1"),
        list: [try binding("aa11").member, try binding("cc11").member])
    }
  }

  private static let steps: [(step: Step, commands: [String])] = [
    (
      .unbind,
      [
        "smembers", "hkeys", "srem", "hdel", "hset", "del", "expire", "time", "zadd",
        "zremrangebyscore", "get", "set", "hget", "zscore",
      ]
    ),
    (
      .forget,
      [
        "smembers", "hkeys", "hlen", "scard", "hsetnx", "hdel", "sismember", "del", "exists",
        "time", "type", "get", "set", "expire", "hget", "hset", "zscore", "zadd",
        "zremrangebyscore",
      ]
    ),
    (.forgetAPage, ["hsetnx", "srem", "hdel", "time", "get", "hset", "zadd"]),
  ]

  /// A device would be taken from the user and its token not freed, or the other way round.
  @Test(arguments: steps.flatMap { one in one.commands.map { (one.step, $0) } })
  func whatIsRefusedHasChangedNothing(_ step: Step, _ command: String) async throws {
    try await RedisFixture().run { redis async throws in
      try await Self.write(redis)
      let before = try await Self.content(redis)
      _ = try await redis.ask("ACL", "SETUSER", "default", "-\(command)")
      let error = await failure { try await Self.take(step, redis) }
      #expect(error?.code == .redis(.notPermitted), "\(command): \(String(describing: error))")
      _ = try await redis.ask("ACL", "SETUSER", "default", "+@all")
      #expect(try await Self.content(redis) == before, "\(command)")
    }
  }

  /// The new device would not be there, and the old one would be gone.
  @Test(arguments: [
    "smembers", "hkeys", "srem", "hdel", "hget", "hset", "sadd", "expire", "del", "zadd",
    "zremrangebyscore",
  ])
  func aNewTokenLeavesTheOldOne(_ command: String) async throws {
    try await RedisFixture().run { redis async throws in
      try await Self.write(redis)
      _ = try await redis.ask("ACL", "SETUSER", "default", "-\(command)")
      let error = await failure {
        _ = try await DeviceRegistry(redis: redis, keyspace: keyspace)
          .replace(user: "u1", try binding("aa11"), with: try binding("dd11"), at: 200)
      }
      #expect(error?.code == .redis(.notPermitted), "\(command): \(String(describing: error))")
      _ = try await redis.ask("ACL", "SETUSER", "default", "+@all")
      #expect(try await redis.tokens("u1") == ["aa11", "bb11"])
      #expect(try await redis.table(keyspace.deviceKeys(user: "u1")[1]).count == 2)
    }
  }

  @Test(arguments: ["scan", "hexists", "evalsha"])
  func whatIsMissingIsNamedBeforeAnythingIsBegun(_ command: String) async throws {
    try await RedisFixture().run { redis async throws in
      try await DevicePermissions.check(redis, keyspace)
      _ = try await redis.ask("ACL", "SETUSER", "default", "-\(command)")
      let error = await failure { try await DevicePermissions.check(redis, keyspace) }
      #expect(error?.code == .redis(.notPermitted))
      let words = error.map { "\($0)" } ?? ""
      #expect(words.contains(command.uppercased()) && words.contains("nothing was changed"))
      _ = try await redis.ask("ACL", "SETUSER", "default", "+@all")
      #expect(try await redis.keys() == [])
    }
  }

  /// Somebody else binds the device: the first user would keep it beside them.
  @Test(arguments: ["smembers", "hkeys", "srem", "hdel"])
  func aDeviceOfAnotherUserIsNotHalfTaken(_ command: String) async throws {
    try await RedisFixture().run { redis async throws in
      try await Self.write(redis)
      _ = try await redis.ask("ACL", "SETUSER", "default", "-\(command)")
      let error = await failure {
        try await DeviceRegistry(redis: redis, keyspace: keyspace)
          .bind(user: "u2", try binding("aa11"), at: 200)
      }
      #expect(error?.code == .redis(.notPermitted), "\(command): \(String(describing: error))")
      _ = try await redis.ask("ACL", "SETUSER", "default", "+@all")
      #expect(try await redis.tokens("u1") == ["aa11", "bb11"])
      #expect(try await redis.tokens("u2") == [])
    }
  }

  /// What a user had and can be restored must be taken from that user by whoever binds it next,
  /// even if the first attempt was refused.
  @Test(arguments: ["hset", "del", "hkeys", "set"])
  func aRefusedMoveForgetsNobodyWhoHasToLeave(_ command: String) async throws {
    try await RedisFixture().run { redis async throws in
      try await Self.write(redis)
      _ = try await redis.ask(
        "SREM", keyspace.bindings(user: "u1"), try binding("aa11").member)
      let tokens = TokenMoves(redis: redis, keyspace: keyspace)
      try await tokens.release([("aa11", "u1")], keptFor: 1_000)
      _ = try await redis.ask("ACL", "SETUSER", "default", "-\(command)")
      let refused = try? await tokens.claim([("aa11", "u2")])
      #expect(refused == nil, "\(command)")
      _ = try await redis.ask("ACL", "SETUSER", "default", "+@all")
      let move = try await tokens.claim([("aa11", "u2")])[0]
      #expect(move?.leaving == ["u1"], "\(command)")
    }
  }

  /// The audience that is read now would be taken for one that was given up, and be removed.
  @Test(arguments: ["hdel", "hset"])
  func anAudienceThatCannotBeDividedStaysAsItWas(_ command: String) async throws {
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      for user in ["u1", "u2", "u3"] { try await registry.follow(streamer: "s1", user: user) }
      let sharding = AudienceSharding(redis: redis, keyspace: keyspace)
      for _ in 0..<2 {
        _ = try await redis.ask("ACL", "SETUSER", "default", "-\(command)")
        let refused = try? await sharding.run(streamer: "s1", from: .current)
        #expect(refused == nil, "\(command)")
        _ = try await redis.ask("ACL", "SETUSER", "default", "+@all")
      }
      let divided = try await sharding.run(streamer: "s1", from: .current)
      #expect(divided.followers == 3, "\(command)")
    }
  }
}
