import Checkout
import Fixtures
import Keyspace
import Redis
import Synchronization
import Testing

@testable import Devices

/// A file of `Config/redis`, as a backend sends it.
func shippedScript(_ name: String) throws -> String {
  try Checkout.text("Config/redis/" + name)
}

/// A backend that does what docs/redis.md says, or the registry itself.
struct FollowingClient {
  enum Way { case script, commands, registry }

  let way: Way
  let streamer: String
  /// Where the followers stand until there are shards.
  let plainSet: String?
  let script: String

  private var heading: String { "ffd:{f:\(streamer)}" }

  func change(_ redis: RedisClient, _ user: String, follows: Bool) async throws {
    switch way {
    case .script: try await evaluate(redis, user, follows)
    case .commands: try await write(redis, user, follows)
    case .registry:
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      if follows {
        try await registry.follow(streamer: streamer, user: user)
      } else {
        try await registry.unfollow(streamer: streamer, user: user)
      }
    }
  }

  private func evaluate(_ redis: RedisClient, _ user: String, _ follows: Bool) async throws {
    let keys = [heading] + (plainSet.map { [$0] } ?? [])
    let replies = try await redis.execute(
      RedisPipeline(
        ["EVAL", script, String(keys.count)] + keys + [follows ? "follow" : "unfollow", user]))
    if let error = replies[0].error { throw error }
  }

  /// Plain commands: where they stand, the current place, the coming one, then where they stand
  /// once more.
  private func write(_ redis: RedisClient, _ user: String, _ follows: Bool) async throws {
    var known = try await fields(redis)
    while true {
      var places: [String] = []
      if let shards = Int(known[0]) {
        places.append(shard(known[1], shards, user))
      } else if let plainSet {
        places.append(plainSet)
      }
      let next = known[2].split(separator: ":")
      if next.count == 2, let shards = Int(next[1]) {
        places.append(shard(String(next[0]), shards, user))
      }
      // A slow one: meanwhile a division may begin, or end.
      for _ in 0..<user.utf8.reduce(0, { ($0 &+ Int($1)) % 24 }) { _ = try await redis.ask("PING") }
      for place in places { _ = try await redis.ask(follows ? "SADD" : "SREM", place, user) }
      let now = try await fields(redis)
      if now == known { return }
      known = now
    }
  }

  private func fields(_ redis: RedisClient) async throws -> [String] {
    let reply = try await redis.execute(
      RedisPipeline(["HMGET", heading, "shards", "generation", "next"]))[0]
    return (0..<3).map { reply[$0].text ?? "" }
  }

  private func shard(_ generation: String, _ shards: Int, _ user: String) -> String {
    "ffd:{f:\(streamer):\(generation):\(Keyspace.shard(of: user, shards: shards))}"
  }
}
