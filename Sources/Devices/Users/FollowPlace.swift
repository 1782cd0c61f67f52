import Keyspace
import Redis

/// Where a user stands among a streamer's followers, as a fan-out that begins now would read them.
package enum FollowPlace: Sendable, Equatable {
  /// The user does not follow.
  case nowhere
  case shard(index: Int, of: Int)
  /// In a set that another system keeps, without shards.
  case plain(key: String)

  package var isThere: Bool { self != .nowhere }
}

extension AudienceReader {
  package func place(
    of user: String, following streamer: String
  ) async throws(DevicesError) -> FollowPlace {
    try DeviceRegistry.check(user)
    let heading = try await redis.audienceHeading(of: streamer, keyspace)
    if heading.exists {
      let key = heading.places(of: user, following: streamer, keyspace)[0]
      guard try await holds(user, key) else { return .nowhere }
      return .shard(
        index: Keyspace.shard(of: user, shards: heading.shards), of: heading.shards)
    }
    guard let key = plainSet?.key(of: streamer), try await holds(user, key) else {
      return .nowhere
    }
    return .plain(key: key)
  }

  private func holds(_ user: String, _ key: String) async throws(DevicesError) -> Bool {
    let replies = try await redis.replies(to: [["SISMEMBER", key, user]])
    if let error = replies.firstError { throw DevicesError(reply: error.message) }
    return replies[0].integer == 1
  }
}
