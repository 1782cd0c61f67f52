import Keyspace
import Redis

/// The followers of the streamer who has a user's id: counted, and erased where that is asked for.
/// Ids of users and of streamers may be other people's. Confined to the loop of its Redis client.
struct AudienceErasure {
  let redis: RedisClient
  let keyspace: Keyspace

  func run(
    _ user: String, erases: Bool, _ counts: inout ErasureCounts
  ) async throws(DevicesError) {
    guard AudienceFollows.problem(streamer: user) == nil else { return }
    let heading: AudienceHeading
    do throws(DevicesError) {
      heading = try await redis.audienceHeading(of: user, keyspace)
    } catch {
      // Somebody else's business, unless it was asked for.
      guard error.isOfContent, !erases else { throw error }
      return
    }
    guard heading.exists else { return }
    counts.audience = try await redis.members(of: heading.shardKeys(of: user, keyspace))
    guard erases else { return }
    let writer = AudienceWriter(redis: redis, keyspace: keyspace)
    try await writer.begin(streamer: user, expectedFollowers: 0, allowsEmpty: true)
    let summary = try await writer.finish()
    counts.hasErasedAudience = true
    // The heading's number lacks who followed between the count and the step that made the
    // generation current.
    let keys = AudienceRewrite.keys(
      keyspace, user, generation: summary.generation, shards: summary.shards)
    guard try await redis.members(of: keys) == 0 else { return }
    _ = try await redis.reply(
      to: ErasureScripts.removeEmpty, keys: [keyspace.followers(of: user)],
      arguments: [String(summary.shards), String(summary.generation)])
  }
}

extension DevicesError {
  /// Of what one key holds, and of no other.
  var isOfContent: Bool { code == .badContent || code == .redis(.wrongType) }
}
