import Redis

/// Goes through the keys of all masters. A key that exists from the beginning to the end is told at
/// least once; on a cluster, one that moves between two masters meanwhile perhaps not at all.
/// Confined to the loop of its Redis client.
struct KeyScan {
  private let redis: RedisClient
  private let pattern: String

  /// Keys asked of one SCAN.
  static let keysPerPage = 1_000

  init(redis: RedisClient, pattern: String) {
    self.redis = redis
    self.pattern = pattern
  }

  /// - Parameter told: gets page by page, and whether to go on is its answer. A key that is no
  ///   UTF-8 is none of ours.
  /// - Returns: whether it went to the end.
  @discardableResult
  func run(
    _ told: ([String]) async throws(DevicesError) -> Bool
  ) async throws(DevicesError) -> Bool {
    for (master, first) in try await begin() {
      var replies = first
      while true {
        if let text = replies[0].errorText { throw DevicesError(reply: text) }
        guard let cursor = replies[0][0].text else { throw DevicesError.unexpected("SCAN") }
        let keys = replies[0][1]
        let page = (0..<keys.count).compactMap { keys[$0].text }
        if !page.isEmpty, try await !told(page) { return false }
        if cursor == "0" { break }
        replies = try await scan(cursor, at: master)
      }
    }
    return true
  }

  private func begin() async throws(DevicesError) -> [(master: RedisMaster, replies: RedisReplies)]
  {
    do {
      return try await redis.executeOnMasters(RedisPipeline(command("0")))
    } catch {
      throw DevicesError(error)
    }
  }

  private func scan(
    _ cursor: String, at master: RedisMaster
  ) async throws(DevicesError) -> RedisReplies {
    do {
      return try await redis.execute(RedisPipeline(command(cursor)), at: master)
    } catch {
      throw DevicesError(error)
    }
  }

  private func command(_ cursor: String) -> [String] {
    ["SCAN", cursor, "MATCH", pattern, "COUNT", String(Self.keysPerPage)]
  }
}
