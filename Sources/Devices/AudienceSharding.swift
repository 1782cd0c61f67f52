import Keyspace
import Redis

/// Where `AudienceSharding` takes followers from.
package enum AudienceSource: Sendable, Equatable {
  /// One plain set that another system keeps. It stays; what that system changes during the copy
  /// may be missed.
  case plain(key: String)
  /// The streamer's current generation, which has grown or shrunk out of its shards.
  case current
}

/// Divides a streamer's followers into shards of at most 2,048, while fan-outs, follows and
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
  package func run(
    streamer: String, from source: AudienceSource, progress: (Int, Int) -> Void = { _, _ in }
  ) async throws(DevicesError) -> AudienceSummary {
    let keys = try await sources(streamer, source)
    let expected = try await count(keys)
    let rewrite = try await AudienceRewrite(
      redis: redis, keyspace: keyspace, streamer: streamer,
      shards: min(
        Keyspace.recommendedShards(followers: expected), AudienceHeading.maximumShards),
      followersPerFlush: options.followersPerFlush)
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
      if error.code != .conflict { try? await rewrite.abandon() }
      throw error
    }
    summary.users = summary.followers
    return summary
  }

  /// Whether the streamer's followers stand in shards already.
  package func hasShards(_ streamer: String) async throws(DevicesError) -> Bool {
    try await redis.audienceHeading(of: streamer, keyspace).exists
  }

  private func sources(
    _ streamer: String, _ source: AudienceSource
  ) async throws(DevicesError) -> [String] {
    switch source {
    case .plain(let key): return [key]
    case .current:
      let heading = try await redis.audienceHeading(of: streamer, keyspace)
      guard heading.exists else {
        throw DevicesError(
          .invalid,
          "\(streamer) has no follower shards: import its followers, or name the plain set")
      }
      return AudienceRewrite.keys(
        keyspace, streamer, generation: heading.generation, shards: heading.shards)
    }
  }

  private func count(_ keys: [String]) async throws(DevicesError) -> Int {
    let pipeline = RedisPipeline()
    for key in keys { pipeline.append(["SCARD", key]) }
    let replies = try await redis.replies(to: pipeline)
    if let error = replies.firstError { throw DevicesError(reply: error.message) }
    return (0..<keys.count).reduce(0) { $0 + Int(replies[$1].integer ?? 0) }
  }

  /// A cursor is good for one run of one server only: when Redis was restarted or replaced in
  /// between, the scan begins again. What was copied twice is there once.
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
      let answering = Self.runIdentifier(replies[1].text)
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
    let reply = try await redis.reply(
      to: DeviceScripts.copy, keys: [source] + users.map { rewrite.shardKey(of: $0) },
      arguments: users)
    progress(Int(reply.integer ?? 0))
  }

  private static func runIdentifier(_ information: String?) -> String? {
    information?.split(whereSeparator: \.isNewline).first { $0.hasPrefix("run_id:") }
      .map { String($0.dropFirst("run_id:".count)) }
  }
}
