import Fixtures
import Model
import Redis
import Testing

@testable import Devices

/// Many clients move few tokens between few users, and some die in the middle.
@Suite struct ContendedTokensTests {
  private static let tokens = ["a0", "a1", "a2"]
  private static let users = ["u0", "u1", "u2", "u3"]
  private static let apps = ["com.example.live", "com.example.other"]

  private static let seed = Choices.testsSeed

  /// One call, of whoever.
  private static func step(
    _ redis: RedisClient, _ random: inout Choices, at: Int64
  ) async throws {
    let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
    let user = users.randomElement(using: &random) ?? ""
    let first = try binding(
      tokens.randomElement(using: &random) ?? "", apps.randomElement(using: &random) ?? "")
    let second = try binding(
      tokens.randomElement(using: &random) ?? "", apps.randomElement(using: &random) ?? "")
    switch UInt8.random(in: 0..<10, using: &random) {
    case 0..<5: try await registry.bind(user: user, first, at: at)
    case 5..<8: try await registry.unbind(user: user, first)
    default: try await registry.replace(user: user, first, with: second, at: at)
    }
  }

  /// Does one thing after the other; every fourth by a client that dies a moment later.
  private static func work(_ bed: RedisBed, _ seed: UInt64, steps: Int) async throws {
    var random = Choices(state: seed)
    for index in 0..<steps {
      let dies = UInt8.random(in: 0..<4, using: &random) == 0
      let moment = Duration.microseconds(Int.random(in: 0..<3_000, using: &random))
      let choices = Choices(state: random.next())
      do {
        try await bed.run { redis async throws in
          var random = choices
          _ = try await redis.ask("GET", "nothing")
          if dies { _ = bed.loop.schedule(after: moment) { redis.close() } }
          try await step(redis, &random, at: Int64(index))
        }
      } catch let error as DevicesError {
        // What a dead one began has failed, on a cluster perhaps at some of the nodes; so has what
        // met others sixteen times.
        let mayDie = error.code == .redis(.closed) || error.code == .redis(.connectionLost)
        guard error.code == .conflict || dies && mayDie else { throw error }
      }
    }
  }

  /// Who has a token, in whatever app.
  private static func holders(_ redis: RedisClient) async throws -> [String: Set<String>] {
    var holders: [String: Set<String>] = [:]
    for user in users {
      for token in try await redis.tokens(user) { holders[token, default: []].insert(user) }
    }
    return holders
  }

  @Test(arguments: RedisBed.Kind.allCases)
  func noTokenIsEverWithTwoUsers(_ kind: RedisBed.Kind) async throws {
    let bed = try RedisBed(kind)
    let seed = Self.seed
    print("contended tokens: TESTS_SEED=\(seed)")
    // Several rounds, since what is wrong may be mended by the next who comes.
    for round in 0..<(kind == .one ? 12 : 6) {
      try await withThrowingTaskGroup { group in
        for client in 0..<8 {
          group.addTask {
            try await Self.work(bed, seed &+ UInt64(round * 8 + client) &* 0x9E37_79B9, steps: 20)
          }
        }
        try await group.waitForAll()
      }
      try await bed.run { redis async throws in
        for (token, users) in try await Self.holders(redis) {
          #expect(users.count == 1, "\(token), TESTS_SEED=\(seed)")
        }
        let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
        for (index, token) in Self.tokens.enumerated() {
          let user = Self.users[(index + round) % Self.users.count]
          try await registry.bind(user: user, try binding(token), at: 1_000)
          #expect(try await Self.holders(redis)[token] == [user], "TESTS_SEED=\(seed)")
          let owner = try await redis.ask("GET", keyspace.tokenOwner(token: token))
          #expect(owner == user, "TESTS_SEED=\(seed)")
          // Nobody has to leave any more.
          #expect(try await redis.table(keyspace.tokenMoves(token: token)).count <= 1)
        }
      }
    }
  }
}
