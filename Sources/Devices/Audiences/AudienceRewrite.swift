import Keyspace
import Redis

/// A generation of follower shards that is being written beside the current one.
///
/// Its number is its own: Redis hands each out once, so nothing that this rewrite writes or removes
/// can be what another makes current. The heading's `next` names the one rewrite that may finish;
/// one that begins later takes its place, and the first fails when it finishes.
///
/// Shards that nobody reads any more stand in the heading's `retired` from the step on that makes
/// them so, and are removed. The next rewrite removes them once more: what a crash has left there,
/// and who came late and died before he knew it.
final class AudienceRewrite {
  let streamer: String
  let shards: Int
  let generation: Int
  private let redis: RedisClient
  private let keyspace: Keyspace
  private let options: AudienceWriterOptions
  private let allowsEmpty: Bool
  private var gathered: [Int: [String]] = [:]
  private var gatheredCount = 0

  private init(
    redis: RedisClient, keyspace: Keyspace, streamer: String, shards: Int, generation: Int,
    options: AudienceWriterOptions, allowsEmpty: Bool
  ) {
    self.redis = redis
    self.keyspace = keyspace
    self.streamer = streamer
    self.shards = shards
    self.generation = generation
    self.options = options
    self.allowsEmpty = allowsEmpty
  }

  /// How often a rewrite starts again because the followers were rewritten under its hands.
  static let maximumTries = 16

  static func conflict(_ streamer: String, _ keyspace: Keyspace) -> DevicesError {
    DevicesError(.conflict, "\(keyspace.people(of: streamer)) are being rewritten by others")
  }

  /// Announces a rewrite of the audience that `heading` shows, so that whoever follows or unfollows
  /// from now on is written to both generations. Nil when the audience has become another since
  /// the heading was read: read it again.
  /// - Parameters:
  ///   - newcomers: who would take the place of followers, in words, where they must not. Nil: they
  ///     may.
  ///   - allowsEmpty: whether an audience of somebody may become one of nobody.
  static func begin(
    redis: RedisClient, keyspace: Keyspace, streamer: String, heading: AudienceHeading,
    followers: Int, sparingAllFrom newcomers: String? = nil, options: AudienceWriterOptions,
    allowsEmpty: Bool
  ) async throws(DevicesError) -> AudienceRewrite? {
    if let newcomers {
      try await heading.refuseToReplace(streamer, by: newcomers, redis, keyspace)
    }
    let key = keyspace.followers(of: streamer)
    let shards = min(
      Keyspace.recommendedShards(followers: followers), Keyspace.maximumShards)
    let reserved = try await redis.reply(
      to: AudienceScripts.reserve, keys: [key],
      arguments: [
        "shards": heading.texts[0], "generation": heading.texts[1], "maximum": String(Int32.max),
      ])
    if reserved[0].text == "exhausted" {
      throw DevicesError(
        .badContent, "\(key) has no generation left: DEL it and import the followers again")
    }
    guard reserved[0].text == "done", let generation = Int(reserved[1].text ?? "") else {
      return nil
    }
    // Shards of a heading that somebody deleted may stand under this name.
    try await remove(redis, keys(keyspace, streamer, generation: generation, shards: shards))
    let announced = try await redis.reply(
      to: AudienceScripts.announce, keys: [key],
      arguments: [
        "shards": heading.texts[0], "generation": heading.texts[1],
        "next": "\(generation):\(shards)",
      ])
    guard announced[0].text == "done" else { return nil }
    let rewrite = AudienceRewrite(
      redis: redis, keyspace: keyspace, streamer: streamer, shards: shards,
      generation: generation, options: options, allowsEmpty: allowsEmpty)
    try await rewrite.forget(
      retired: announced[2].text ?? "", before: announced[1].text ?? "")
    if let newcomers { try await rewrite.spareAll(from: newcomers, heading) }
    return rewrite
  }

  /// Once more, behind the announcement: who had begun to follow before it stands in the current
  /// generation alone, and would be lost with that. Those who come now are in both.
  private func spareAll(
    from newcomers: String, _ heading: AudienceHeading
  ) async throws(DevicesError) {
    do {
      try await heading.refuseToReplace(streamer, by: newcomers, redis, keyspace)
    } catch {
      try? await abandon()
      throw error
    }
  }

  /// - Parameter before: the last that was announced, whose writer may not know yet.
  private func forget(retired: String, before: String) async throws(DevicesError) {
    let generations = retired.split(separator: " ").compactMap { AudienceHeading.next(String($0)) }
    guard !generations.isEmpty else { return }
    for old in generations where old.generation != generation {
      try await Self.remove(
        redis, Self.keys(keyspace, streamer, generation: old.generation, shards: old.shards))
    }
    _ = try await redis.reply(
      to: AudienceScripts.forget, keys: [keyspace.followers(of: streamer)],
      arguments: ["next": "\(generation):\(shards)", "kept": before])
  }

  /// The key of the shard that a user belongs to in this generation.
  func shardKey(of user: String) -> String {
    keyspace.followerShard(
      streamer: streamer, generation: generation, shard: Keyspace.shard(of: user, shards: shards))
  }

  func append(_ user: String) async throws(DevicesError) {
    gathered[Keyspace.shard(of: user, shards: shards), default: []].append(user)
    gatheredCount += 1
    if gatheredCount >= options.followersPerFlush { try await flush() }
  }

  /// Makes this generation current, deletes the one before it. Readers of that one find its
  /// followers in this one.
  func finish() async throws(DevicesError) -> (followers: Int, shards: Int, generation: Int) {
    try await flush()
    let reply = try await flip()
    if let old = Int(reply[2].text ?? ""), let oldShards = Int(reply[3].text ?? ""),
      oldShards >= 1, oldShards <= Keyspace.maximumShards, old != generation
    {
      try await Self.remove(
        redis, Self.keys(keyspace, streamer, generation: old, shards: oldShards))
    }
    return (Int(reply[1].decimal ?? 0), shards, generation)
  }

  private func flip() async throws(DevicesError) -> RedisReply {
    let keys = Self.keys(keyspace, streamer, generation: generation, shards: shards)
    var minimum = allowsEmpty ? 0 : 1
    while true {
      // A user who follows between this and the next step is counted in the old generation alone.
      let followers = try await redis.members(of: keys)
      let reply = try await redis.reply(
        to: AudienceScripts.flip, keys: [keyspace.followers(of: streamer)],
        arguments: [
          "generation": String(generation), "shards": String(shards), "minimum": String(minimum),
          "followers": String(followers),
        ])
      switch reply[0].text {
      case "done": return reply
      case "few":
        // Nobody instead of nobody is no loss.
        guard try await currentFollowers() == 0 else {
          throw DevicesError(
            .invalid,
            "nobody would be left: \(keyspace.people(of: streamer)) are as they were before")
        }
        minimum = 0
      default:
        try await Self.remove(redis, keys)
        throw DevicesError(
          .conflict,
          "another rewrite of \(keyspace.people(of: streamer)) began meanwhile: this one is void")
      }
    }
  }

  private func currentFollowers() async throws(DevicesError) -> Int {
    let heading = try await redis.audienceHeading(of: streamer, keyspace)
    return try await redis.members(of: heading.shardKeys(of: streamer, keyspace))
  }

  /// Gives the rewrite up, unless it has become the current generation: an error after the last
  /// step may only mean that its answer was lost.
  func abandon() async throws(DevicesError) {
    let reply = try await redis.reply(
      to: AudienceScripts.abandon, keys: [keyspace.followers(of: streamer)],
      arguments: ["generation": String(generation), "shards": String(shards)])
    guard reply[0].text == "done" else { return }
    try await Self.remove(
      redis, Self.keys(keyspace, streamer, generation: generation, shards: shards))
  }

  private func flush() async throws(DevicesError) {
    guard gatheredCount > 0 else { return }
    let pipeline = RedisPipeline(capacity: 1 << 20)
    for (shard, users) in gathered.sorted(by: { $0.key < $1.key }) {
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
      let replies = try await redis.replies(to: part.map { ["UNLINK", $0] })
      if let error = replies.firstError { throw DevicesError(reply: error.message) }
    }
  }
}
