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

  /// KEYS: the import. ARGV: its report, its state, when, lifetime, the number of its run, and for
  /// how many ms it may be silent, when it begins. Answers 0 when it was deleted meanwhile, or
  /// another runs under its id.
  static let saving = RedisScript(
    """
    local known = redis.call('HMGET', KEYS[1], 'run', 'state', 'heard_ms')
    if ARGV[6] then
      local silent = tonumber(ARGV[3]) - (tonumber(known[3] or '') or 0)
      if known[2] == 'running' and silent <= tonumber(ARGV[6]) then return 0 end
    elseif known[1] ~= ARGV[5] then
      return 0
    end
    redis.call('HSET', KEYS[1], 'report', ARGV[1], 'state', ARGV[2], 'heard_ms', ARGV[3],
      'run', ARGV[5])
    redis.call('EXPIRE', KEYS[1], ARGV[4])
    return 1
    """)

  /// What was known of an earlier import of this id is forgotten.
  /// - Returns: false when that one is running.
  func begin(_ report: ImportReport, of run: String) async throws(Problem) -> Bool {
    try await write(report, of: run, more: [String(Self.silenceMilliseconds)])
  }

  /// - Returns: false when it was deleted.
  func save(_ report: ImportReport, of run: String) async throws(Problem) -> Bool {
    try await write(report, of: run, more: [])
  }

  private func write(
    _ report: ImportReport, of run: String, more: [String]
  ) async throws(Problem) -> Bool {
    do throws(RedisError) {
      let replies = try await redis.evaluate(
        Self.saving, keys: [keyspace.imported(report.id)],
        arguments: [
          text(report), report.state.rawValue, String(now()),
          String(Keyspace.importLifetimeSeconds), run,
        ] + more)
      if let error = replies.firstError { throw RedisError(error, quotes: false) }
      return replies[0].integer == 1
    } catch {
      throw Problem(error)
    }
  }

  func report(_ id: String) async throws(Problem) -> ImportReport? {
    let reply = try await redis.ask(["HMGET", keyspace.imported(id), "report", "heard_ms"])[0]
    guard let text = reply[0].text, let value = try? JSONValue.parse(Array(text.utf8)),
      var report = value.object.flatMap({ ImportReport($0) })
    else { return nil }
    let (silence, isAbsurd) = now().subtractingReportingOverflow(reply[1].decimal ?? 0)
    if report.state == .running, isAbsurd || silence > Self.silenceMilliseconds {
      report.state = .interrupted
    }
    return report
  }

  func delete(_ id: String) async throws(Problem) -> Bool {
    try await redis.ask(["DEL", keyspace.imported(id)])[0].integer == 1
  }

  private func text(_ report: ImportReport) -> String {
    JSONText.compact(.object(JSONObject(report.members)))
  }
}
