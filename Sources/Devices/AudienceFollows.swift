import Keyspace
import Redis

/// Adds many follows to audiences that are in use, whoever the streamers are: what
/// `DeviceRegistry.follow` does, in large pipelines. Confined to the loop of its Redis client.
///
/// It adds to the shards that a streamer has (one, for a streamer who is new). Those whose
/// followers have outgrown their shards are named at the end: `AudienceSharding` divides them once
/// more.
package final class AudienceFollows {
  private struct Follow {
    let streamer: String
    let user: String
  }

  private let redis: RedisClient
  private let keyspace: Keyspace
  private let plainSet: PlainSetPattern?
  private var gathered: [Follow] = []
  private var streamers: Set<ExactText> = []
  /// Streamers whose followers are not in a plain set.
  private var unhidden: Set<ExactText> = []
  private var script = ScriptCommand(AudienceScripts.follow)

  package private(set) var added = 0

  /// Follows that go out together.
  private static let followsPerPage = 2_000
  /// How often a follow starts again because its streamer was rewritten meanwhile.
  private static let maximumTries = 16

  /// - Parameter plainSet: where followers without shards may stand; a follow beside them is
  ///   refused, because it would hide them.
  package init(redis: RedisClient, keyspace: Keyspace, plainSet: PlainSetPattern? = nil) {
    self.redis = redis
    self.keyspace = keyspace
    self.plainSet = plainSet
  }

  /// Throws why a follow of this streamer would be refused.
  package func check(streamer: String) async throws(DevicesError) {
    if let problem = Self.problem(streamer: streamer) { throw DevicesError(.invalid, problem) }
    guard let plainSet, !unhidden.contains(ExactText(streamer)) else { return }
    let heading = try await redis.audienceHeading(of: streamer, keyspace)
    if !heading.exists { try await plainSet.refuse([streamer], redis) }
    unhidden.insert(ExactText(streamer))
  }

  /// Refuses what is no id, without a trace.
  package func append(streamer: String, user: String) async throws(DevicesError) {
    try await check(streamer: streamer)
    guard Keyspace.isIdentifier(user) else {
      throw DevicesError(.invalid, AudienceRow.identifierProblem("user"))
    }
    gathered.append(Follow(streamer: streamer, user: user))
    if gathered.count >= Self.followsPerPage { try await flush() }
  }

  /// Why a streamer's id is refused; nil when it is one.
  package static func problem(streamer: String) -> String? {
    Keyspace.isStreamerIdentifier(streamer)
      ? nil : AudienceRow.identifierProblem("streamer") + ", and must not end in :<digits>:<digits>"
  }

  /// Writes what is left. Returns the streamers with more followers than their shards should hold.
  package func finish() async throws(DevicesError) -> [String] {
    try await flush()
    var outgrown: [String] = []
    let all = streamers.map(\.text)
    for start in stride(from: 0, to: all.count, by: Self.followsPerPage) {
      let some = Array(all[start..<min(start + Self.followsPerPage, all.count)])
      let pipeline = RedisPipeline()
      for streamer in some {
        pipeline.append(["HMGET", keyspace.followers(of: streamer), "shards", "followers"])
      }
      let replies = try await redis.replies(to: pipeline)
      for (index, streamer) in some.enumerated() {
        guard let shards = replies[index][0].decimal, let followers = replies[index][1].decimal
        else { continue }
        if Int(shards) < Keyspace.recommendedShards(followers: Int(clamping: followers)) {
          outgrown.append(streamer)
        }
      }
    }
    return outgrown
  }

  private func flush() async throws(DevicesError) {
    var left = gathered
    gathered.removeAll(keepingCapacity: true)
    streamers.formUnion(left.lazy.map { ExactText($0.streamer) })
    for _ in 0..<Self.maximumTries {
      if left.isEmpty { return }
      left = try await write(left)
    }
    guard left.isEmpty else {
      throw DevicesError(
        .conflict,
        "the followers of \(left[0].streamer) were rewritten \(Self.maximumTries) times meanwhile")
    }
  }

  /// Returns those whose streamer has changed since its heading was read.
  private func write(_ follows: [Follow]) async throws(DevicesError) -> [Follow] {
    let headings = try await headings(of: follows)
    let command = try await script.words(redis)
    let pipeline = RedisPipeline(capacity: 1 << 20)
    for follow in follows {
      guard let heading = headings[ExactText(follow.streamer)] else { continue }
      let keys = keys(of: follow, heading)
      pipeline.append(
        command + [String(keys.count)] + keys + ["SADD", follow.user] + heading.texts)
    }
    let replies = try await redis.replies(to: pipeline)
    var moved: [Follow] = []
    for (index, follow) in follows.enumerated() {
      let reply = replies[index]
      if let error = reply.error {
        guard error.kind == .noScript else { throw DevicesError(reply: error.message) }
        script.forget()
        moved.append(follow)
      } else if reply[0].text == "done" {
        added += Int(reply[1].integer ?? 0)
      } else {
        moved.append(follow)
      }
    }
    // A streamer who was new has got a heading with the first follow: the others find it now.
    return moved
  }

  private func headings(
    of follows: [Follow]
  ) async throws(DevicesError) -> [ExactText: AudienceHeading] {
    let streamers = Array(Set(follows.map { ExactText($0.streamer) }))
    let pipeline = RedisPipeline()
    for streamer in streamers {
      pipeline.append(
        ["HMGET", keyspace.followers(of: streamer.text), "shards", "generation", "next"])
    }
    let replies = try await redis.replies(to: pipeline)
    var headings: [ExactText: AudienceHeading] = [:]
    for (index, streamer) in streamers.enumerated() {
      headings[streamer] = try AudienceHeading(
        replies[index], key: keyspace.followers(of: streamer.text))
    }
    return headings
  }

  private func keys(of follow: Follow, _ heading: AudienceHeading) -> [String] {
    func shard(_ generation: Int, _ shards: Int) -> String {
      keyspace.followerShard(
        streamer: follow.streamer, generation: generation,
        shard: Keyspace.shard(of: follow.user, shards: shards))
    }
    var keys = [
      keyspace.followers(of: follow.streamer), shard(heading.generation, heading.shards),
    ]
    if let next = heading.next { keys.append(shard(next.generation, next.shards)) }
    return keys
  }
}
