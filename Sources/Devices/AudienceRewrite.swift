import Keyspace
import Redis

/// A generation of follower shards that is being written beside the current one.
final class AudienceRewrite {
  let streamer: String
  let shards: Int
  let generation: Int
  private let redis: RedisClient
  private let keyspace: Keyspace
  private let followersPerFlush: Int
  private var gathered: [Int: [String]] = [:]
  private var gatheredCount = 0

  /// Announces the rewrite, so that whoever follows or unfollows from now on is written to both
  /// generations. A rewrite that is under way already is superseded and fails when it finishes.
  init(
    redis: RedisClient, keyspace: Keyspace, streamer: String, shards: Int, followersPerFlush: Int
  ) async throws(DevicesError) {
    self.redis = redis
    self.keyspace = keyspace
    self.streamer = streamer
    self.shards = shards
    self.followersPerFlush = followersPerFlush
    for _ in 0..<16 {
      let heading = try await redis.audienceHeading(of: streamer, keyspace)
      let latest = max(heading.exists ? heading.generation : 0, heading.next?.generation ?? 0)
      guard latest < Int(Int32.max) else {
        throw DevicesError(.badContent, "the generation of \(streamer) is too large: HSET it to 1")
      }
      let generation = latest + 1
      // What a rewrite that died may have left under this name, or under the one that is taken
      // over.
      try await Self.remove(
        redis, Self.keys(keyspace, streamer, generation: generation, shards: shards))
      let reply = try await redis.reply(
        to: DeviceScripts.begin, keys: [keyspace.followers(of: streamer)],
        arguments: [heading.texts[1], heading.texts[2], "\(generation):\(shards)"])
      guard reply[0].text == "done" else { continue }
      self.generation = generation
      if let next = heading.next {
        try await Self.remove(
          redis, Self.keys(keyspace, streamer, generation: next.generation, shards: next.shards))
      }
      return
    }
    throw DevicesError(.conflict, "the followers of \(streamer) are being rewritten by others")
  }

  /// The key of the shard that a user belongs to in this generation.
  func shardKey(of user: String) -> String {
    keyspace.followerShard(
      streamer: streamer, generation: generation, shard: Keyspace.shard(of: user, shards: shards))
  }

  func append(_ user: String) async throws(DevicesError) {
    gathered[Keyspace.shard(of: user, shards: shards), default: []].append(user)
    gatheredCount += 1
    if gatheredCount >= followersPerFlush { try await flush() }
  }

  /// Makes this generation current, deletes the one before it. Readers of that one find its
  /// followers in this one.
  func finish() async throws(DevicesError) -> (followers: Int, shards: Int, generation: Int) {
    try await flush()
    let keys = Self.keys(keyspace, streamer, generation: generation, shards: shards)
    let reply = try await redis.reply(
      to: DeviceScripts.flip, keys: [keyspace.followers(of: streamer)] + keys,
      arguments: [String(generation), String(shards)])
    guard reply[0].text == "done" else {
      try await Self.remove(redis, keys)
      throw DevicesError(
        .conflict,
        "another rewrite of the followers of \(streamer) began meanwhile: this one is void")
    }
    if let old = Int(reply[2].text ?? ""), let oldShards = Int(reply[3].text ?? ""),
      oldShards >= 1, oldShards <= AudienceHeading.maximumShards
    {
      try await Self.remove(
        redis, Self.keys(keyspace, streamer, generation: old, shards: oldShards))
    }
    return (Int(reply[1].decimal ?? 0), shards, generation)
  }

  func abandon() async throws(DevicesError) {
    _ = try await redis.reply(
      to: DeviceScripts.abandon, keys: [keyspace.followers(of: streamer)],
      arguments: [String(generation), String(shards)])
    try await Self.remove(
      redis, Self.keys(keyspace, streamer, generation: generation, shards: shards))
  }

  private func flush() async throws(DevicesError) {
    guard gatheredCount > 0 else { return }
    let pipeline = RedisPipeline(capacity: 1 << 20)
    for (shard, users) in gathered {
      let key = keyspace.followerShard(streamer: streamer, generation: generation, shard: shard)
      pipeline.append(["SADD", key] + users)
    }
    let replies = try await redis.replies(to: pipeline)
    if let error = replies.firstError { throw DevicesError(reply: error.message) }
    gathered.removeAll(keepingCapacity: true)
    gatheredCount = 0
  }

  static func keys(
    _ keyspace: Keyspace, _ streamer: String, generation: Int, shards: Int
  ) -> [String] {
    (0..<shards).map {
      keyspace.followerShard(streamer: streamer, generation: generation, shard: $0)
    }
  }

  private static func remove(_ redis: RedisClient, _ keys: [String]) async throws(DevicesError) {
    for start in stride(from: 0, to: keys.count, by: 512) {
      let part = Array(keys[start..<min(start + 512, keys.count)])
      let replies = try await redis.replies(to: RedisPipeline(["UNLINK"] + part))
      if let error = replies.firstError { throw DevicesError(reply: error.message) }
    }
  }
}
