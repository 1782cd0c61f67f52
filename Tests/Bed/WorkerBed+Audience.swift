import Devices
import Keyspace
import Model

/// Who follows whom.
extension WorkerBed {
  /// - Parameter expected: more followers than there are make more shards, and smaller ones.
  package func seed(
    _ audience: SyntheticAudience, streamer: String, expecting expected: Int? = nil
  ) async throws {
    try await write(
      audience.followers, of: streamer, expecting: expected ?? audience.followers,
      row: audience.row)
  }

  /// Makes each token the only device of a follower of its own.
  package func follow(
    _ streamer: String, tokens: [String], boundAt: Int64 = 1_767_225_600_000, app: String = app
  ) async throws {
    try await write(tokens.count, of: streamer, expecting: tokens.count) { index in
      let binding = Binding(destination: .production, topic: app, token: tokens[index])
      return AudienceRow(
        user: "\(streamer)-u\(index)", profile: [("name", "Kim")],
        bindings: binding.map { [$0] } ?? [], boundAt: boundAt)
    }
  }

  /// One follower with all of these tokens, each for its topic.
  package func follow(
    _ streamer: String, device tokens: [(token: String, topic: String)]
  ) async throws {
    try await write(1, of: streamer, expecting: 1) { _ in
      AudienceRow(
        user: "\(streamer)-u0", profile: [],
        bindings: tokens.compactMap {
          Binding(destination: .production, topic: $0.topic, token: $0.token)
        }, boundAt: 1_767_225_600_000)
    }
  }

  /// Writes an audience of so many shards: follower `index` of each has the device that `token`
  /// names, if any.
  package func followInShards(
    _ streamer: String, shards: Int, perShard: Int, destination: Destination = .production,
    token: @Sendable (_ shard: Int, _ index: Int) -> String?
  ) async throws {
    var rows: [AudienceRow] = []
    var counts = [Int](repeating: 0, count: shards)
    var number = 0
    while rows.count < shards * perShard {
      let user = "\(streamer)-u\(number)"
      number += 1
      let shard = Keyspace.shard(of: user, shards: shards)
      guard counts[shard] < perShard else { continue }
      let binding = token(shard, counts[shard]).flatMap {
        Binding(destination: destination, topic: Self.app, token: $0)
      }
      counts[shard] += 1
      rows.append(
        AudienceRow(
          user: user, profile: [], bindings: binding.map { [$0] } ?? [], boundAt: 1_767_225_600_000)
      )
    }
    let all = rows
    try await write(
      all.count, of: streamer, expecting: shards * Keyspace.targetShardFollowers
    ) { all[$0] }
  }

  private func write(
    _ count: Int, of streamer: String, expecting expected: Int, row: @Sendable (Int) -> AudienceRow
  ) async throws {
    let keyspace = keyspace
    try await withRedis { redis in
      let writer = AudienceWriter(redis: redis, keyspace: keyspace)
      try await writer.begin(streamer: streamer, expectedFollowers: expected)
      for index in 0..<count { try await writer.append(row(index)) }
      try await writer.finish()
    }
  }
}
