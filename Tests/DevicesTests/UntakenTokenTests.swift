import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Devices
@testable import Tokens

/// Who cannot take a token takes it from nobody.
@Suite struct UntakenTokenTests {
  @Test(arguments: keyspace.movingKeys(user: "u2"), [false, true])
  func theFormerUserKeepsIt(_ key: String, isReplacement: Bool) async throws {
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      try await registry.bind(user: "u1", try binding("aa"), at: 100)
      _ = try await redis.ask("LPUSH", key, "something else")
      var moves: [DeviceMove] = []
      let error = await failure {
        if isReplacement {
          try await registry.replace(
            user: "u2", try binding("bb"), with: try binding("aa"), at: 200
          ) { moves += $0 }
        } else {
          try await registry.bind(user: "u2", try binding("aa"), at: 200) { moves += $0 }
        }
      }
      #expect(error?.code == .redis(.wrongType) && error?.message.contains(key) == true)
      #expect(moves == [])
      #expect(try await redis.tokens("u1") == ["aa"])
      #expect(try await redis.ask("GET", keyspace.tokenOwner(token: "aa")) == "u1")
      #expect(try await redis.ask("EXISTS", keyspace.tokenMoves(token: "aa")) == "0")
    }
  }

  /// Two ids that Unicode calls equal are two users.
  @Test func eachUserOfABatchIsLookedAt() async throws {
    try await RedisFixture().run { redis async throws in
      let (composed, decomposed) = ("u\u{E9}", "ue\u{301}")
      _ = try await redis.ask("SET", keyspace.tokenOwner(token: "aa"), "u1")
      _ = try await redis.ask("SET", keyspace.tokenOwner(token: "bb"), "u1")
      _ = try await redis.ask("LPUSH", keyspace.bound(user: decomposed), "something else")
      let moves = TokenMoves(redis: redis, keyspace: keyspace)
      let claimed = try? await moves.claim([("aa", composed), ("bb", decomposed)])
      #expect(claimed == nil)
      #expect(try await redis.ask("GET", keyspace.tokenOwner(token: "aa")) == "u1")
      #expect(try await redis.ask("GET", keyspace.tokenOwner(token: "bb")) == "u1")
    }
  }
}
