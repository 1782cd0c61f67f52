import Keyspace
import Redis

/// Reads a user's keys in one step, unless they hold more than one request should carry: then it is
/// said how much, and nothing is sent. Others write to Redis, too.
enum UserReading {
  /// Twice what we write, for each key: who is over it by a little is still shown.
  static let maximumElements = 2 * AudienceRow.maximumBindings
  /// Of all keys together: 2,000 devices of long tokens, and their times. All of it is written into
  /// one answer, on a thread that others need.
  static let maximumBytes = 1 << 20

  private static let script = RedisScript([SharedLua.types, PackageResources.read_user_lua])

  /// The reply to each command, behind one of ours.
  static func run(
    _ reads: [(command: String, key: String)], of user: String, _ redis: RedisClient
  ) async throws(DevicesError) -> RedisReply {
    let answer = try await redis.reply(
      to: script, keys: reads.map(\.key),
      arguments: [
        "maximum_elements": String(maximumElements), "maximum_bytes": String(maximumBytes),
      ], list: reads.map(\.command))
    switch answer[0].text {
    case "read": return answer
    case "large":
      let limit = answer[2].text == "bytes" ? maximumBytes : maximumElements
      throw DevicesError(
        .tooLarge,
        "\(answer[3].text ?? "") holds \(answer[1].integer ?? 0) \(answer[2].text ?? ""), at most "
          + "\(limit) are read of a user: take out what is not needed, or forget the user")
    default: throw DevicesError.unexpected("a script of ours")
    }
  }
}
