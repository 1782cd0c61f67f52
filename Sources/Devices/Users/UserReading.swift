import Keyspace
import Redis

/// Reads a user's keys in one step, unless they hold more than one request should carry: then it is
/// said how much, and nothing is sent. Others write to Redis, too.
enum UserReading {
  /// Twice what we write, for each key: who is over it by a little is still shown.
  static let maximumElements = 2 * AudienceRow.maximumBindings
  /// Of all keys together: 2,000 devices of long tokens, and their times. What is read is written
  /// into one answer, on a thread that others need.
  static let maximumBytes = 1 << 20

  /// KEYS: of one user. ARGV: how many elements a key may have, how many bytes all may have, the
  /// command of each key. Answers what the commands do, or how many elements or bytes there are.
  private static let body = """
    local size = {SMEMBERS = 'SCARD', HGETALL = 'HLEN'}
    for i, key in ipairs(KEYS) do
      local command = size[ARGV[i + 2]]
      local count = command and redis.pcall(command, key) or 0
      -- It is a hash where a set should be, and the like.
      if type(count) == 'table' then return count end
      if count > tonumber(ARGV[1]) then return {'large', count, 'elements', key} end
    end
    local answer, bytes = {'read'}, 0
    for i, key in ipairs(KEYS) do
      local value = redis.pcall(ARGV[i + 2], key)
      if type(value) == 'table' then
        if value['err'] then return value end
        for _, text in ipairs(value) do bytes = bytes + #text end
        if bytes > tonumber(ARGV[2]) then return {'large', bytes, 'bytes', key} end
      end
      answer[#answer + 1] = value
    end
    return answer
    """
  private static let script = RedisScript(body)

  /// The reply to each command, behind one of ours.
  static func run(
    _ reads: [(command: String, key: String)], of user: String, _ redis: RedisClient
  ) async throws(DevicesError) -> RedisReply {
    let answer = try await redis.reply(
      to: script, keys: reads.map(\.key),
      arguments: [String(maximumElements), String(maximumBytes)] + reads.map(\.command))
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
