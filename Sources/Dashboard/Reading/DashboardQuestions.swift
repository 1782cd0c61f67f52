import Redis

/// How a dashboard asks Redis. The replies to a command that Redis refuses are errors; thrown is
/// what leaves commands without replies.
struct DashboardQuestions {
  /// The replies of one refresh at most: the cache of all fan-outs takes a tenth of it.
  private static let maximumReplyBytes = 32 << 20
  /// Somebody else has written a hash that has more fields.
  static let maximumFields: Int64 = 1_000

  let redis: RedisClient
  /// Commands that were sent since the process began.
  private(set) var count = 0

  init(_ redis: RedisClient) { self.redis = redis }

  mutating func ask(_ commands: [[String]]) async throws(RedisError) -> RedisReplies {
    let pipeline = RedisPipeline()
    for command in commands { pipeline.append(command) }
    count += commands.count
    return try await redis.execute(pipeline, maximumReplyBytes: Self.maximumReplyBytes)
  }

  /// Each hash that is there and small enough; nil for the others. One question for their sizes,
  /// one for their fields.
  mutating func hashes(_ keys: [String]) async throws(RedisError) -> [[String: String]?] {
    guard !keys.isEmpty else { return [] }
    let sizes = try await ask(keys.map { ["HLEN", $0] })
    try Self.check(sizes)
    let small = keys.indices.filter { 1...Self.maximumFields ~= sizes[$0].integer ?? 0 }
    var found = [[String: String]?](repeating: nil, count: keys.count)
    guard !small.isEmpty else { return found }
    let replies = try await ask(small.map { ["HGETALL", keys[$0]] })
    try Self.check(replies)
    for (position, index) in small.enumerated() {
      guard let fields = replies[position].dictionary, !fields.isEmpty else { continue }
      found[index] = fields
    }
    return found
  }

  /// Throws what Redis says of a right that we lack. A key that holds something else is none of
  /// ours, and passed over.
  static func check(_ replies: RedisReplies) throws(RedisError) {
    for index in 0..<replies.count {
      guard let error = replies[index].error else { continue }
      let failure = RedisError(error, quotes: false)
      if failure.code != .wrongType { throw failure }
    }
  }
}
