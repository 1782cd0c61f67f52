import Redis

/// Where another system keeps the followers of a streamer without shards: in one plain set, which
/// fan-outs read in place until there are shards.
package struct PlainSetPattern: Sendable, Equatable {
  /// The parts of the key around the ids.
  private let parts: [String]

  /// - Parameter pattern: a key with `{streamer}` where the id stands, once or more often.
  package init(_ pattern: String) {
    parts = pattern.split(separator: "{streamer}", omittingEmptySubsequences: false).map {
      String($0)
    }
  }

  package func key(of streamer: String) -> String { parts.joined(separator: streamer) }

  package func members(
    of streamer: String, _ redis: RedisClient
  ) async throws(DevicesError) -> Int {
    try await redis.members(of: [key(of: streamer)])
  }

  /// Throws for the first of these streamers, all of them without shards, who has a plain set.
  func refuse(_ streamers: [String], _ redis: RedisClient) async throws(DevicesError) {
    let pipeline = RedisPipeline()
    for streamer in streamers { pipeline.append(["TYPE", key(of: streamer)]) }
    guard pipeline.count > 0 else { return }
    let replies = try await redis.replies(to: pipeline)
    for (index, streamer) in streamers.enumerated() {
      if let text = replies[index].errorText { throw DevicesError(reply: text) }
      if replies[index].text != "none" { throw Self.hidden(streamer, key(of: streamer)) }
    }
  }

  private static func hidden(_ streamer: String, _ key: String) -> DevicesError {
    DevicesError(
      .invalid,
      "the followers of \(streamer) are in the plain set \(key), which a follow in shards would "
        + "hide: first run fanfare audience shard --streamer \(streamer) --from-key \(key)")
  }
}
