import Keyspace
import Model
import Redis
import Testing

@testable import Devices

let keyspace = Keyspace()

func binding(_ token: String, _ topic: String = "com.example.live") throws -> Binding {
  try #require(Binding(destination: .production, topic: topic, token: token))
}

func row(_ user: String, _ tokens: String...) throws -> AudienceRow {
  AudienceRow(
    user: user, profile: [("locale", "en")], bindings: try tokens.map { try binding($0) },
    boundAt: 1_000)
}

extension RedisClient {
  /// The bindings of a user by their tokens, sorted.
  func tokens(_ user: String) async throws -> [String] {
    try await members(keyspace.bindings(user: user)).map { String($0.split(separator: ":")[3]) }
  }

  func members(_ key: String) async throws -> [String] {
    let reply = try await execute(RedisPipeline(["SMEMBERS", key]))[0]
    return (0..<reply.count).compactMap { reply[$0].text }.sorted()
  }

  /// Everybody in the shards that the streamer's hash names; records an issue when a user is in a
  /// wrong one.
  func followers(_ streamer: String) async throws -> [String] {
    let heading = try await audienceHeading(of: streamer, keyspace)
    var users: [String] = []
    for shard in 0..<heading.shards {
      let key = keyspace.followerShard(
        streamer: streamer, generation: heading.generation, shard: shard)
      let found = try await members(key)
      #expect(found.allSatisfy { Keyspace.shard(of: $0, shards: heading.shards) == shard })
      users += found
    }
    return users.sorted()
  }

  /// Of all masters; without what remembers moves of tokens for ten minutes.
  func keys() async throws -> [String] {
    let masters = try await executeOnMasters(RedisPipeline(["KEYS", "*"]))
    return masters.flatMap { _, replies in
      (0..<replies[0].count).compactMap { replies[0][$0].text }
    }.filter { !$0.hasSuffix(":moves") }.sorted()
  }
}

func failure(_ body: () async throws -> Void) async -> DevicesError? {
  do {
    try await body()
    return nil
  } catch {
    return error as? DevicesError
  }
}
