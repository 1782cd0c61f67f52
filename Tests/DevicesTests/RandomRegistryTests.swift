import Glibc
import Keyspace
import Model
import Redis
import Testing

@testable import Devices

/// Eight clients bind, unbind, replace, follow, unfollow and forget at random. Afterwards all
/// that is written twice says the same.
@Suite struct RandomRegistryTests {
  private static let seed = Choices.testsSeed
  /// Of each client; `TESTS_STEPS` makes it a long run.
  private static let steps = getenv("TESTS_STEPS").flatMap { Int(String(cString: $0)) }
  private static let tokens = (0..<24).map { "ab\(100_000 + $0)" }
  private static let users = (0..<10).map { "u\($0)" }
  private static let streamers = (0..<4).map { "s\($0)" }
  private static let topics = ["com.example.live", "com.example.other"]

  private static func device(_ random: inout Choices) throws -> Binding {
    try binding(
      tokens.randomElement(using: &random) ?? "", topics.randomElement(using: &random) ?? "")
  }

  /// What a caller does who is told that others changed the same at the same time: it asks again.
  private static func step(
    _ redis: RedisClient, _ random: inout Choices, at: Int64
  ) async throws {
    let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
    let user = users.randomElement(using: &random) ?? ""
    let streamer = streamers.randomElement(using: &random) ?? ""
    let (first, second) = (try device(&random), try device(&random))
    let choice = UInt8.random(in: 0..<20, using: &random)
    while true {
      do throws(DevicesError) {
        switch choice {
        case 0..<7: try await registry.bind(user: user, first, at: at)
        case 7..<9: try await registry.unbind(user: user, first)
        case 9..<10: _ = try await registry.unbind(user: user, token: first.token)
        case 10..<13: try await registry.replace(user: user, first, with: second, at: at)
        case 13..<16: try await registry.follow(streamer: streamer, user: user)
        case 16..<18: try await registry.unfollow(streamer: streamer, user: user)
        case 18: _ = try await UserErasure(redis: redis, keyspace: keyspace).run(user, writes: true)
        default: _ = try await forget(user, redis)
        }
        return
      } catch {
        guard error.code == .conflict else { throw error }
      }
    }
  }

  private static func forget(
    _ user: String, _ redis: RedisClient
  ) async throws(DevicesError) -> ErasureCounts {
    var scope = UserErasure.Scope()
    scope.looksEverywhere = true
    return try await UserErasure(redis: redis, keyspace: keyspace).run(user, scope, writes: true)
  }

  @Test(arguments: RedisBed.Kind.allCases)
  func whatIsWrittenTwiceAgrees(_ kind: RedisBed.Kind) async throws {
    let bed = try RedisBed(kind)
    let seed = Self.seed
    print("random registry: TESTS_SEED=\(seed)")
    let steps = Self.steps ?? (kind == .one ? 400 : 150)
    try await bed.run { redis async throws in
      // Somebody has followed each of them: the number of a first follow that is forgotten in the
      // same moment may be off by one.
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      for streamer in Self.streamers { try await registry.follow(streamer: streamer, user: "u0") }
    }
    try await withThrowingTaskGroup { group in
      for client in 0..<8 {
        group.addTask {
          try await bed.run { redis async throws in
            var random = Choices(state: seed &+ UInt64(client) &* 0x9E37_79B9)
            for index in 0..<steps { try await Self.step(redis, &random, at: Int64(index + 1)) }
          }
        }
      }
      try await group.waitForAll()
    }
    try await bed.run { redis async throws in
      try await Self.expectAgreement(redis, "TESTS_SEED=\(seed)")
      for user in Self.users { _ = try await Self.forget(user, redis) }
      let left = try await redis.keys()
      #expect(Set(left).isSubset(of: Self.streamers.map { keyspace.followers(of: $0) }))
      for key in left { #expect(try await redis.ask("HGET", key, "followers") == "0") }
    }
  }

  private static func expectAgreement(_ redis: RedisClient, _ what: Comment) async throws {
    var holders: [String: Set<String>] = [:]
    for user in users {
      let members = try await redis.members(keyspace.bindings(user: user))
      for member in members {
        holders[try #require(Binding(member: member)).token, default: []].insert(user)
      }
      // Each device has its time, and nothing else has.
      let bound = try await redis.table(keyspace.bound(user: user))
      #expect(bound.keys.sorted() == members, what)
    }
    for token in tokens {
      #expect(holders[token]?.count ?? 0 <= 1, what)
      let owner = try await redis.ask("GET", keyspace.tokenOwner(token: token))
      #expect(owner == holders[token]?.first, what)
      // Nobody has to leave any more.
      #expect(try await redis.table(keyspace.tokenMoves(token: token)).count <= 1, what)
    }
    for streamer in streamers {
      let noted = try await redis.ask("HGET", keyspace.followers(of: streamer), "followers")
      #expect(try await redis.followers(streamer).count == Int(noted ?? "0"), what)
    }
  }
}
