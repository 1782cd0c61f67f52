import Keyspace
import Redis
import Text

/// Adds many follows to audiences that are in use, whoever the streamers are: what
/// `DeviceRegistry.follow` does, in large pipelines. Confined to the loop of its Redis client.
///
/// It adds to the shards that a streamer has (one, for a streamer who is new). Those whose
/// followers have outgrown their shards are named at the end: `AudienceSharding` divides them once
/// more.
package final class AudienceFollows {
  private let redis: RedisClient
  private let keyspace: Keyspace
  private let plainSet: PlainSetPattern?
  private let changes: FollowChanges
  /// Follows, and the lines of the import that they came from.
  private var gathered: [(streamer: String, user: String, line: Int)] = []
  private var refused: [RefusedLine] = []
  private var streamers: Set<ExactText> = []
  /// Streamers whose followers are not in a plain set.
  private var unhidden: Set<ExactText> = []

  package private(set) var added = 0

  /// Follows that go out together.
  private static let followsPerPage = 2_000

  /// - Parameter plainSet: where followers without shards may stand; a follow beside them is
  ///   refused, because it would hide them.
  package init(redis: RedisClient, keyspace: Keyspace, plainSet: PlainSetPattern? = nil) {
    self.redis = redis
    self.keyspace = keyspace
    self.plainSet = plainSet
    changes = FollowChanges(redis: redis, keyspace: keyspace, plainSet: plainSet)
  }

  /// Throws why a follow of this streamer would be refused.
  package func check(streamer: String) async throws(DevicesError) {
    if let problem = Self.problem(streamer: streamer) { throw DevicesError(.invalid, problem) }
    guard let plainSet, !unhidden.contains(ExactText(streamer)) else { return }
    _ = try await redis.audienceHeadings(of: [streamer], keyspace, hiding: plainSet)
    unhidden.insert(ExactText(streamer))
  }

  /// Refuses what is no id, without a trace. A follow whose streamer has a key of another type is
  /// seen when it is written: see `takeRefused`.
  /// - Parameter line: names such a follow.
  package func append(
    streamer: String, user: String, line: Int = 0
  ) async throws(DevicesError) {
    try await check(streamer: streamer)
    guard Keyspace.isIdentifier(user) else {
      throw DevicesError(.invalid, AudienceRow.identifierProblem("user"))
    }
    gathered.append((streamer, user, line))
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

  /// The follows that were not written since the last call, or not to all of their shards.
  func takeRefused() -> [RefusedLine] {
    defer { refused = [] }
    return refused
  }

  func flush() async throws(DevicesError) {
    let follows = gathered
    gathered.removeAll(keepingCapacity: true)
    streamers.formUnion(follows.lazy.map { ExactText($0.streamer) })
    let written = try await changes.applyEach(.follow, follows.map { ($0.streamer, $0.user) })
    added += written.changed
    refused += written.refused.map { RefusedLine(follows[$0.index].line, $0.error.message) }
  }
}
