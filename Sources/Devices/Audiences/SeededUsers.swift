import Keyspace
import Redis

/// Which users `audience seed` has made, so that it never writes over others. Each of them carries
/// a mark in the profile, which lives as long as the user.
package struct SeededUsers {
  private let redis: RedisClient
  private let keyspace: Keyspace

  private static let mark = "fanfare-seed"
  package static let usersPerPage = 1_000

  package init(redis: RedisClient, keyspace: Keyspace) {
    self.redis = redis
    self.keyspace = keyspace
  }

  /// The row of a user who is made up, with the mark.
  package static func marked(_ row: AudienceRow) -> AudienceRow {
    AudienceRow(
      user: row.user, profile: row.profile + [(mark, "1")], bindings: row.bindings,
      boundAt: row.boundAt)
  }

  /// The first of these users who exists and was not made up; at most `usersPerPage` at once.
  package func stranger(among users: [String]) async throws(DevicesError) -> String? {
    let pipeline = RedisPipeline(capacity: 1 << 18)
    for user in users {
      pipeline.append(["HGET", keyspace.profile(user: user), Self.mark])
      pipeline.append(["EXISTS", keyspace.profile(user: user)])
      pipeline.append(["EXISTS", keyspace.bindings(user: user)])
    }
    guard pipeline.count > 0 else { return nil }
    let replies = try await redis.replies(to: pipeline)
    for (index, user) in users.enumerated() {
      let (mark, profile, bindings) = (
        replies[3 * index], replies[3 * index + 1], replies[3 * index + 2]
      )
      if let text = profile.errorText ?? bindings.errorText { throw DevicesError(reply: text) }
      let isMarked = mark.text != nil
      if !isMarked, profile.integer != 0 || bindings.integer != 0 { return user }
    }
    return nil
  }
}
