import Keyspace
import Model
import Redis

/// The hash of a streamer's followers.
struct FollowerHeading: Equatable {
  static let fields = ["shards", "generation", "followers"]
  /// Three numbers take less; a field of 100 MB is not read.
  static let maximumBytes = 4_096

  let shards: Int
  let generation: Int
  let followers: Int

  /// From HMGET of `fields`; nil when the streamer has no shards.
  static func read(_ reply: RedisReply, key: String) throws(ExpandError) -> FollowerHeading? {
    let reply = try reply.array(from: "HMGET", key: key, wanted: "hash")
    guard reply.count == fields.count else {
      throw ExpandError.unexpected(reply, to: "HMGET", key: key)
    }
    if reply[0].isNull && reply[1].isNull { return nil }
    guard let shards = Int(reply[0].text ?? ""), Keyspace.isShardCount(shards),
      let generation = Int(reply[1].text ?? ""), generation >= 0,
      generation <= Int(Int32.max)
    else {
      throw ExpandError(
        .badContent,
        "\(key) must have shards (a power of two up to \(Keyspace.maximumShards)) "
          + "and generation (a whole number): repair it with HSET, or DEL it and import the "
          + "followers again")
    }
    // Shown, and a hint how much to ask for at once; never counted on.
    let followers = min(max(0, Int(reply[2].text ?? "") ?? 0), 1 << 40)
    return FollowerHeading(shards: shards, generation: generation, followers: followers)
  }

  /// Asks for headings and for what else is in `pipeline` with them, little as well.
  static func replies(
    to pipeline: RedisPipeline, keys: [String], from redis: RedisClient
  ) async throws(ExpandError) -> RedisReplies {
    do {
      return try await redis.execute(pipeline, maximumReplyBytes: maximumBytes)
    } catch {
      guard error.code == .replyTooLarge else { throw ExpandError(error) }
      throw ExpandError(
        .badContent,
        "\(keys.joined(separator: " or ")) holds more than three numbers: repair it with HSET, or "
          + "DEL it and import the followers again", cause: error.description)
    }
  }
}
