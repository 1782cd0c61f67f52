import Keyspace
import Model
import Redis

/// Finds a streamer's followers and reads them, page by page, with their devices and profiles.
/// Confined to one lane.
package final class ExpandStage {
  private let redis: RedisClient
  private let keyspace: Keyspace
  private let options: ExpandOptions

  package init(redis: RedisClient, keyspace: Keyspace, options: ExpandOptions = ExpandOptions()) {
    self.redis = redis
    self.keyspace = keyspace
    self.options = options
  }

  /// Where the followers of a streamer stand: shards, or else the plain set when one is configured
  /// and there.
  package func audience(of streamer: String) async throws(ExpandError) -> Audience {
    guard Keyspace.isStreamerIdentifier(streamer) else {
      throw ExpandError(
        .invalid,
        "a streamer's id must be 1…\(Keyspace.maximumIdentifierBytes) bytes of UTF-8 without "
          + "control characters and braces, and must not end in :<digits>:<digits>")
    }
    let key = keyspace.followers(of: streamer)
    let plainKey = plainKey(of: streamer)
    let pipeline = RedisPipeline(["HMGET", key] + FollowerHeading.fields)
    if let plainKey { pipeline.append("TYPE", plainKey) }
    let replies = try await FollowerHeading.replies(to: pipeline, key: key, from: redis)
    if let heading = try FollowerHeading.read(replies[0], key: key) {
      return .sharded(
        shards: heading.shards, generation: heading.generation, followers: heading.followers)
    }
    guard let plainKey else { return .none }
    if let error = replies[1].error {
      throw ExpandError(reply: error, to: "TYPE", key: plainKey, wanted: "set")
    }
    switch replies[1].text {
    case "set": return .plain(key: plainKey)
    case "none": return .none
    case let type:
      throw ExpandError(
        .redis(.wrongType),
        "\(plainKey) is a \(type ?? "key of no type"), not a set: correct the plain set's key in "
          + "the configuration, or RENAME the key")
    }
  }

  /// The followers of a segment, for a reader. `audience`: what was found out of the streamer, if
  /// anything. Nothing is sent before `readAhead` or a reader's first `next()`.
  package func followers(of segment: Segment, audience: Audience? = nil) -> FollowerSource {
    var followers: Int?
    if case .sharded(let shards, _, let count) = audience, shards == 1 { followers = count }
    return FollowerSource(
      redis: redis, keyspace: keyspace, segment: segment, followers: followers, options: options)
  }

  /// Reads the recipients of a segment. `fields` are the profile fields that templates need.
  /// Bindings of exactly this `topic` are addressed, the push type's suffix with it: each type but
  /// alert and background has tokens of its own.
  ///
  /// By `now` (ms since 1970) reading is given up when the event has expired and Redis is still
  /// too slow, or its replies still too large, to read its followers; and hours are quiet. What is
  /// read while `isOver` is counted, and sent to nobody.
  package func reader(
    of followers: FollowerSource, fields: [String], topic: String,
    now: @escaping () -> Int64, isOver: @escaping () -> Bool = { false }
  ) -> SegmentReader {
    SegmentReader(
      redis: redis, keyspace: keyspace, options: options, source: followers, fields: fields,
      topic: topic, now: now, isOver: isOver)
  }

  private func plainKey(of streamer: String) -> String? {
    guard let pattern = options.plainSetKey else { return nil }
    let marker = "{streamer}"
    var key = ""
    var rest = pattern[...]
    while let start = rest.firstRange(of: marker) {
      key += rest[..<start.lowerBound] + streamer
      rest = rest[start.upperBound...]
    }
    return key + rest
  }
}
