import Redis

/// The beginning of a command that runs a script, for pipelines: by digest where Redis keeps
/// scripts for this user, else with the source.
struct ScriptCommand {
  private let script: RedisScript
  private var digest: String?

  init(_ script: RedisScript) { self.script = script }

  mutating func words(_ redis: RedisClient) async throws(DevicesError) -> [String] {
    if digest == nil {
      let replies = try await redis.replies(to: RedisPipeline(["SCRIPT", "LOAD", script.source]))
      if let text = replies[0].text, text.utf8.count == 40 { digest = text }
    }
    return digest.map { ["EVALSHA", $0] } ?? ["EVAL", script.source]
  }

  /// Redis forgets scripts when it restarts.
  mutating func forget() { digest = nil }
}
