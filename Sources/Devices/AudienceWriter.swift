import Keyspace
import Model
import Redis

package struct AudienceWriterOptions: Sendable {
  /// Users whose commands go out together, about six commands each.
  package var rowsPerPage: Int
  /// Followers gathered before they are written shard by shard, so that one SADD carries many.
  package var followersPerFlush: Int
  /// Members asked of one SSCAN.
  package var scanCount: Int

  package init(rowsPerPage: Int = 1_000, followersPerFlush: Int = 16_384, scanCount: Int = 1_000) {
    self.rowsPerPage = max(1, rowsPerPage)
    self.followersPerFlush = max(1, followersPerFlush)
    self.scanCount = max(1, scanCount)
  }
}

/// Writes many users and a streamer's followers with plain commands in large pipelines: for an
/// import or a seed. It does not look whether a token belongs to another user already;
/// `DeviceRegistry` does. Confined to the loop of its Redis client.
///
/// Followers are written as a new generation of shards beside the current one, which serves until
/// `finish` makes the new one current in one step. A writer that dies leaves the current
/// generation as it was; the next rewrite takes over what it had begun.
package final class AudienceWriter {
  private let redis: RedisClient
  private let keyspace: Keyspace
  private let options: AudienceWriterOptions
  private let page = RedisPipeline(capacity: 1 << 20)
  private var rows = 0
  private var rewrite: AudienceRewrite?

  package private(set) var users = 0
  package private(set) var devices = 0

  package init(
    redis: RedisClient, keyspace: Keyspace,
    options: AudienceWriterOptions = AudienceWriterOptions()
  ) {
    self.redis = redis
    self.keyspace = keyspace
    self.options = options
  }

  /// From here on every appended row is a follower of `streamer`. `expectedFollowers` fixes the
  /// number of shards: the least power of two with at most 2,048 followers each, at most 65,536
  /// shards.
  package func begin(streamer: String, expectedFollowers: Int) async throws(DevicesError) {
    try await flush()
    rewrite = try await AudienceRewrite(
      redis: redis, keyspace: keyspace, streamer: streamer,
      shards: min(
        Keyspace.recommendedShards(followers: expectedFollowers), AudienceHeading.maximumShards),
      followersPerFlush: options.followersPerFlush)
  }

  /// Appends a user; written when a page is full and by `finish`. Devices and profile fields are
  /// added to what the user has. A row that is refused (`DevicesError.Code.invalid`) leaves no
  /// trace.
  package func append(_ row: AudienceRow) async throws(DevicesError) {
    if let problem = row.problem { throw DevicesError(.invalid, problem) }
    encode(row)
    users += 1
    devices += row.bindings.count
    rows += 1
    if let rewrite { try await rewrite.append(row.user) }
    if rows >= options.rowsPerPage { try await flush() }
  }

  /// Writes what is left and, after `begin`, makes the new generation current.
  @discardableResult
  package func finish() async throws(DevicesError) -> AudienceSummary {
    try await flush()
    var summary = AudienceSummary(users: users, devices: devices)
    if let rewrite {
      self.rewrite = nil
      (summary.followers, summary.shards, summary.generation) = try await rewrite.finish()
    }
    return summary
  }

  /// Gives up what `begin` began: the current generation stays. Users written so far stay too.
  package func abandon() async throws(DevicesError) {
    page.removeAll()
    rows = 0
    if let rewrite {
      self.rewrite = nil
      try await rewrite.abandon()
    }
  }

  private func encode(_ row: AudienceRow) {
    if !row.bindings.isEmpty {
      let members = row.bindings.map(\.member)
      let at = String(row.boundAt)
      page.append(["SADD", keyspace.bindings(user: row.user)] + members)
      page.append(["HSET", keyspace.bound(user: row.user)] + members.flatMap { [$0, at] })
      for binding in row.bindings {
        page.append(["SET", keyspace.tokenOwner(token: binding.token), row.user])
      }
    }
    if !row.profile.isEmpty {
      page.append(
        ["HSET", keyspace.profile(user: row.user)] + row.profile.flatMap { [$0.name, $0.value] })
    }
  }

  private func flush() async throws(DevicesError) {
    rows = 0
    guard page.count > 0 else { return }
    defer { page.removeAll() }
    let replies = try await redis.replies(to: page)
    if let error = replies.firstError { throw DevicesError(reply: error.message) }
  }
}

/// What an import, a seed or a resharding has written.
package struct AudienceSummary: Sendable, Equatable {
  package var users = 0
  package var devices = 0
  package var followers = 0
  package var shards = 0
  package var generation = 0
  /// Members of the source that are no user ids; they were left out.
  package var skipped = 0
}
