import Devices
import Keyspace
import Redis

/// Followers in Redis, written by plain commands, as a backend in another language may do it: on a
/// cluster as on one server.
package struct PlainAudience {
  private static let rowsAtOnce = 1_000

  private let redis: RedisClient
  private let keyspace: Keyspace

  package init(redis: RedisClient, keyspace: Keyspace) {
    self.redis = redis
    self.keyspace = keyspace
  }

  /// The streamer's followers, in the place of those that there were.
  /// - Parameter progress: called with the rows written so far, now and then.
  package func write(
    _ count: Int, of streamer: String, shards: Int, progress: (Int) -> Void = { _ in },
    row: (Int) -> AudienceRow
  ) async throws(RedisError) {
    let heading = keyspace.followers(of: streamer)
    let known = try await redis.execute(RedisPipeline(["HGET", heading, "generation"]))[0]
    let generation = known.decimal.map { Int($0) + 1 } ?? 1
    for start in stride(from: 0, to: count, by: Self.rowsAtOnce) {
      progress(start)
      var followers: [Int: [String]] = [:]
      let pipeline = RedisPipeline(capacity: 1 << 18)
      for index in start..<min(start + Self.rowsAtOnce, count) {
        let row = row(index)
        followers[Keyspace.shard(of: row.user, shards: shards), default: []].append(row.user)
        append(row, to: pipeline)
      }
      for (shard, users) in followers {
        let key = keyspace.followerShard(streamer: streamer, generation: generation, shard: shard)
        pipeline.append(["SADD", key] + users)
      }
      try await run(pipeline)
    }
    let fields = ["shards": shards, "generation": generation, "followers": count]
    try await run(RedisPipeline(["HSET", heading] + fields.flatMap { [$0, "\($1)"] }))
    progress(count)
  }

  private func append(_ row: AudienceRow, to pipeline: RedisPipeline) {
    for binding in row.bindings {
      pipeline.append("SADD", keyspace.bindings(user: row.user), binding.member)
      if row.boundAt > 0 {
        pipeline.append("HSET", keyspace.bound(user: row.user), binding.member, "\(row.boundAt)")
      }
      pipeline.append("SET", keyspace.tokenOwner(token: binding.token), row.user)
    }
    guard !row.profile.isEmpty else { return }
    pipeline.append(
      ["HSET", keyspace.profile(user: row.user)] + row.profile.flatMap { [$0.name, $0.value] })
  }

  private func run(_ pipeline: RedisPipeline) async throws(RedisError) {
    if let error = try await redis.execute(pipeline).firstError { throw RedisError(error) }
  }
}
