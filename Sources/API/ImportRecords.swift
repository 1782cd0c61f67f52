import JSON
import Keyspace
import Redis

/// What Redis knows of imports, so that any process tells how one fares, whoever reads it. Confined
/// to the loop of its Redis client.
struct ImportRecords {
  let redis: RedisClient
  let keyspace: Keyspace
  /// Ms since 1970.
  let now: @Sendable () -> Int64

  /// An import that was not heard of for so long is read by nobody: it is told of every second.
  static let silenceMilliseconds: Int64 = 30_000

  /// Answers 0 when it was deleted meanwhile. KEYS: the import. ARGV: report, when, lifetime.
  private static let saving = RedisScript(
    """
    if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
    redis.call('HSET', KEYS[1], 'report', ARGV[1], 'heard_ms', ARGV[2])
    redis.call('EXPIRE', KEYS[1], ARGV[3])
    return 1
    """)

  /// What was known of an earlier import of this id is forgotten.
  func begin(_ report: ImportReport) async throws(Problem) {
    let key = keyspace.imported(report.id)
    _ = try await ask(
      ["DEL", key], ["HSET", key, "report", text(report), "heard_ms", String(now())],
      ["EXPIRE", key, String(Keyspace.importLifetimeSeconds)])
  }

  /// - Returns: false when it was deleted.
  func save(_ report: ImportReport) async throws(Problem) -> Bool {
    do throws(RedisError) {
      let replies = try await redis.evaluate(
        Self.saving, keys: [keyspace.imported(report.id)],
        arguments: [text(report), String(now()), String(Keyspace.importLifetimeSeconds)])
      if let error = replies.firstError { throw RedisError(error, quotes: false) }
      return replies[0].integer == 1
    } catch {
      throw Problem(error)
    }
  }

  func report(_ id: String) async throws(Problem) -> ImportReport? {
    let reply = try await ask(["HMGET", keyspace.imported(id), "report", "heard_ms"])[0]
    guard let text = reply[0].text, let value = try? JSONValue.parse(Array(text.utf8)),
      var report = value.object.flatMap({ ImportReport($0) })
    else { return nil }
    let heard = reply[1].decimal ?? 0
    if report.state == .running, now() - heard > Self.silenceMilliseconds {
      report.state = .interrupted
    }
    return report
  }

  func delete(_ id: String) async throws(Problem) -> Bool {
    try await ask(["DEL", keyspace.imported(id)])[0].integer == 1
  }

  private func text(_ report: ImportReport) -> String {
    JSONText.compact(.object(JSONObject(report.members)))
  }

  private func ask(_ commands: [String]...) async throws(Problem) -> RedisReplies {
    let pipeline = RedisPipeline()
    for command in commands { pipeline.append(command) }
    do throws(RedisError) {
      let replies = try await redis.execute(pipeline)
      if let error = replies.firstError { throw RedisError(error, quotes: false) }
      return replies
    } catch {
      throw Problem(error)
    }
  }
}
