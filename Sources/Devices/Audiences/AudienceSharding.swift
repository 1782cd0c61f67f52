import Keyspace
import Redis

/// Divides a streamer's followers into shards of 2,048 on the average, while fan-outs, follows and
/// unfollows go on.
package struct AudienceSharding {
  private let redis: RedisClient
  private let keyspace: Keyspace
  private let options: AudienceWriterOptions

  package init(
    redis: RedisClient, keyspace: Keyspace,
    options: AudienceWriterOptions = AudienceWriterOptions()
  ) {
    self.redis = redis
    self.keyspace = keyspace
    self.options = options
  }

  /// Reads the source by SSCAN, writes the next generation, makes it current. On an error the
  /// current generation is as before; run it again. `progress` gets followers copied and expected.
  /// - Parameter replaces: whether a plain set may take the place of followers in shards.
  package func run(
    streamer: String, from source: AudienceSource, replaces: Bool = false,
    progress: (Int, Int) -> Void = { _, _ in }
  ) async throws(DevicesError) -> AudienceSummary {
    let (rewrite, keys, expected) = try await begin(streamer, source, replaces)
    var summary = AudienceSummary()
    do {
      var copied = 0
      for key in keys {
        try await copy(key, to: rewrite, &summary) { new in
          copied += new
          progress(copied, expected)
        }
      }
      (summary.followers, summary.shards, summary.generation) = try await rewrite.finish()
    } catch {
      try? await rewrite.abandon()
      throw error
    }
    return summary
  }

  /// Whether the streamer's followers are in shards already.
  package func hasShards(_ streamer: String) async throws(DevicesError) -> Bool {
    try await redis.audienceHeading(of: streamer, keyspace).exists
  }

  /// Begins the rewrite, and returns it with the sets that it reads. The audience that is counted
  /// and read is the one that the rewrite was announced for: nobody else can take it away without
  /// making the rewrite void.
  private func begin(
    _ streamer: String, _ source: AudienceSource, _ replaces: Bool
  ) async throws(DevicesError) -> (AudienceRewrite, keys: [String], expected: Int) {
    for _ in 0..<AudienceRewrite.maximumTries {
      let heading = try await redis.audienceHeading(of: streamer, keyspace)
      let keys = try Self.sources(streamer, source, heading, keyspace)
      let expected = try await redis.members(of: keys)
      if case .plain(let key) = source, expected == 0 {
        throw DevicesError(.invalid, "\(key) holds nobody: nothing was changed")
      }
      var newcomers: String?
      if case .plain(let key) = source, !replaces {
        newcomers = "the \(expected) members of \(key)"
      }
      if let rewrite = try await AudienceRewrite.begin(
        redis: redis, keyspace: keyspace, streamer: streamer, heading: heading,
        followers: expected, sparingAllFrom: newcomers, options: options, allowsEmpty: false)
      {
        return (rewrite, keys, expected)
      }
    }
    throw AudienceRewrite.conflict(streamer, keyspace)
  }

  private static func sources(
    _ streamer: String, _ source: AudienceSource, _ heading: AudienceHeading, _ keyspace: Keyspace
  ) throws(DevicesError) -> [String] {
    switch source {
    case .plain(let key): return [key]
    case .current:
      guard heading.exists else {
        throw DevicesError(
          .invalid,
          keyspace.isOfTags
            ? "nobody has the tag \(streamer): add it to users first"
            : "\(streamer) has no follower shards: import its followers, or name the plain set")
      }
      return heading.shardKeys(of: streamer, keyspace)
    }
  }

  /// A cursor is good for one run of one server only: when Redis was restarted or replaced in
  /// between, the scan begins again. A user who is copied twice is there once.
  private func copy(
    _ key: String, to rewrite: AudienceRewrite, _ summary: inout AudienceSummary,
    _ progress: (Int) -> Void
  ) async throws(DevicesError) {
    var cursor = "0"
    var run: String?
    while true {
      let replies = try await redis.replies(
        to: RedisPipeline(
          ["SSCAN", key, cursor, "COUNT", String(options.scanCount)], ["INFO", "server"]))
      if let error = replies[0].error { throw DevicesError(reply: error.message) }
      let answering = RedisRole.runIdentifier(replies[1])
      if let known = run, known != answering {
        run = answering
        cursor = "0"
        continue
      }
      run = answering
      try await copy(replies[0][1], of: key, to: rewrite, &summary, progress)
      guard let next = replies[0][0].text, next != "0" else { return }
      cursor = next
    }
  }

  private func copy(
    _ members: RedisReply, of source: String, to rewrite: AudienceRewrite,
    _ summary: inout AudienceSummary, _ progress: (Int) -> Void
  ) async throws(DevicesError) {
    var users: [String] = []
    for index in 0..<members.count {
      if let user = members[index].text, Keyspace.isIdentifier(user) {
        users.append(user)
      } else {
        summary.skipped += 1
      }
    }
    guard !users.isEmpty else { return }
    let shards = Dictionary(grouping: users) { rewrite.shardKey(of: $0) }
      .sorted { $0.key < $1.key }
    let copied = try await redis.replies(to: shards.map { ["SADD", $0] + $1 })
    if let error = copied.firstError { throw DevicesError(reply: error.message) }
    progress((0..<shards.count).reduce(0) { $0 + Int(copied[$1].integer ?? 0) })
    try await agree(users, with: source, rewrite)
  }

  /// Makes the copies of these users agree with the source. A user who unfollows during the copy is
  /// removed, and one who follows again after that is added. This is repeated until the source,
  /// asked after the last write, says what was written.
  private func agree(
    _ users: [String], with source: String, _ rewrite: AudienceRewrite
  ) async throws(DevicesError) {
    var written = users
    var follow = true
    for _ in 0..<AudienceRewrite.maximumTries {
      let found = try await redis.replies(to: written.map { ["SISMEMBER", source, $0] })
      if let error = found.firstError { throw DevicesError(reply: error.message) }
      let differing = written.indices.filter { (found[$0].integer == 1) != follow }
      if differing.isEmpty { return }
      written = differing.map { written[$0] }
      // They were all written alike, so they are all to be written the other way.
      follow.toggle()
      let command = follow ? "SADD" : "SREM"
      let replies = try await redis.replies(
        to: written.map { [command, rewrite.shardKey(of: $0), $0] })
      if let error = replies.firstError { throw DevicesError(reply: error.message) }
    }
    throw AudienceRewrite.conflict(rewrite.streamer, keyspace)
  }
}

/// Where `AudienceSharding` takes followers from.
package enum AudienceSource: Sendable, Equatable {
  /// One plain set that another system keeps. It stays, and from the last step on nobody reads it.
  /// No follow or unfollow by `Config/redis/follow.lua` is missed at any time; one by a bare SADD
  /// may be.
  case plain(key: String)
  /// The streamer's current generation, which has grown or shrunk out of its shards.
  case current
}
