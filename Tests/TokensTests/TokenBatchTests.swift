import Devices
import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Tokens

/// Many tokens that move at once, of which each has a story of its own.
@Suite struct TokenBatchTests {
  /// Tokens that are new, another's, or have been another's, in every order: what Redis answers to
  /// one of a batch says nothing of the others.
  @Test(arguments: 0..<4)
  func eachTokenOfABatchIsJudgedByItsOwnReplies(_ first: Int) async throws {
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      let tokens = TokenMoves(redis: redis, keyspace: keyspace)
      _ = try await registry.bind(user: "u2", try binding("b2"), at: 100)
      _ = try await registry.bind(user: "u3", try binding("c3"), at: 100)
      _ = try await registry.bind(user: "u4", try binding("c4"), at: 100)
      #expect(try await registry.unbind(user: "u4", try binding("c4")))
      let all = ["a1", "b2", "c3", "c4"]
      let batch = (0..<4).map { all[(first + $0) % 4] }
      let leaving = ["a1": [], "b2": ["u2"], "c3": ["u3"], "c4": []]
      let claims = try await tokens.claim(batch.map { ($0, "u1") })
      for (token, claim) in zip(batch, claims) {
        let claim = try #require(claim)
        #expect(claim.token == token && claim.user == "u1")
        #expect(claim.leaving == leaving[token], "\(token)")
        #expect((claim.number == "0") == (token == "a1"), "\(token)")
      }
      for user in ["u2", "u3", "u4"] { #expect(try await redis.tokens(user) == []) }
      // Others' tokens are spared, each by its own answer.
      _ = try await registry.bind(user: "u5", try binding(batch[1]), at: 100)
      let spared = try await tokens.claim(batch.map { ($0, "u1") }, sparesOthers: true)
      #expect(spared.map { $0?.token } == [batch[0], nil, batch[2], batch[3]])
    }
  }

  /// One of three is another's, one is bound again: the answers are to those that were released.
  @Test func ofABatchThatIsReleasedEachKeepsItsOwnAnswer() async throws {
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      for (user, token) in [("u2", "aa"), ("u1", "bb"), ("u3", "cc"), ("u3", "dd")] {
        _ = try await registry.bind(user: user, try binding(token), at: 100)
      }
      _ = try await redis.ask("SREM", keyspace.bindings(user: "u3"), try binding("cc").member)
      _ = try await redis.ask("DEL", keyspace.tokenOwner(token: "dd"))
      _ = try await redis.ask("SADD", keyspace.tokenOwner(token: "dd"), "x")
      let wrong = try await TokenMoves(redis: redis, keyspace: keyspace)
        .release([("aa", "u1"), ("cc", "u3"), ("dd", "u3"), ("bb", "u1")])
      #expect(wrong == 1)
      for (token, owner) in [("aa", "u2"), ("bb", "u1"), ("cc", nil)] {
        #expect(try await redis.ask("GET", keyspace.tokenOwner(token: token)) == owner, "\(token)")
      }
    }
  }
}
