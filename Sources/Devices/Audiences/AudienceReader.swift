import Keyspace
import Redis

/// Looks at audiences. Confined to the loop of its Redis client.
package struct AudienceReader {
  let redis: RedisClient
  let keyspace: Keyspace
  let plainSet: PlainSetPattern?

  package init(redis: RedisClient, keyspace: Keyspace, plainSet: PlainSetPattern? = nil) {
    self.redis = redis
    self.keyspace = keyspace
    self.plainSet = plainSet
  }

  /// Reads in several steps and writes nothing: of an audience that is divided meanwhile it may
  /// tell too little.
  /// - Parameter limit: how many followers are told by name at most.
  package func report(
    on streamer: String, sample limit: Int = 0
  ) async throws(DevicesError) -> AudienceReport {
    let heading = try await redis.audienceHeading(of: streamer, keyspace)
    let (place, keys) = try await place(of: streamer, heading)
    let sizes = try await sizes(of: keys)
    let followers = sizes.reduce(0, +)
    let noted = try await redis.replies(
      to: [["HGET", keyspace.followers(of: streamer), "followers"]])
    return AudienceReport(
      streamer: streamer, place: place, followers: followers,
      noted: noted[0].decimal.map { Int(clamping: $0) },
      shards: heading.exists ? heading.shards : 0, generation: heading.generation,
      largestShard: sizes.max() ?? 0,
      recommendedShards: Keyspace.recommendedShards(followers: followers),
      comingShards: heading.next?.shards,
      sample: try await sample(of: zip(keys, sizes).filter { $1 > 0 }.map(\.0), limit))
  }

  private func place(
    of streamer: String, _ heading: AudienceHeading
  ) async throws(DevicesError) -> (AudienceReport.Place, keys: [String]) {
    if heading.exists { return (.shards, heading.shardKeys(of: streamer, keyspace)) }
    guard let key = plainSet?.key(of: streamer) else { return (.nowhere, []) }
    return try await redis.members(of: [key]) > 0 ? (.plain(key: key), [key]) : (.nowhere, [])
  }

  private func sizes(of keys: [String]) async throws(DevicesError) -> [Int] {
    var sizes: [Int] = []
    for start in stride(from: 0, to: keys.count, by: Self.keysPerPage) {
      let page = keys[start..<min(start + Self.keysPerPage, keys.count)]
      let replies = try await redis.replies(to: page.map { ["SCARD", $0] })
      if let error = replies.firstError { throw DevicesError(reply: error.message) }
      sizes += page.indices.map { Int(replies[$0 - start].integer ?? 0) }
    }
    return sizes
  }

  /// An audience may have 65,536 shards: others get their turns between two pages of them.
  private static let keysPerPage = 4_096

  private func sample(of keys: [String], _ limit: Int) async throws(DevicesError) -> [String] {
    var users: [String] = []
    for key in keys {
      guard users.count < limit else { break }
      let replies = try await redis.replies(
        to: [["SRANDMEMBER", key, String(limit - users.count)]])
      if let error = replies.firstError { throw DevicesError(reply: error.message) }
      users += (0..<replies[0].count).compactMap { replies[0][$0].text }
    }
    return users
  }
}

/// How the followers of a streamer stand in Redis.
package struct AudienceReport: Sendable, Equatable {
  package enum Place: Sendable, Equatable {
    case nowhere
    /// In a set that another system keeps, without shards.
    case plain(key: String)
    case shards
  }

  package let streamer: String
  package let place: Place
  /// Those that fan-outs read, counted now.
  package let followers: Int
  /// The count in the heading, for people to read; it may be a little off.
  package let noted: Int?
  package let shards: Int
  package let generation: Int
  package let largestShard: Int
  /// How many shards so many followers should have.
  package let recommendedShards: Int
  /// While they are divided again, the shards that are to come.
  package let comingShards: Int?
  /// Some of the followers; nobody in particular.
  package let sample: [String]

  package var hasOutgrownShards: Bool { shards < recommendedShards }
}

/// Where a user stands among a streamer's followers, as a fan-out that begins now would read them.
package enum FollowPlace: Sendable, Equatable {
  /// The user does not follow.
  case nowhere
  case shard(index: Int, of: Int)
  /// In a set that another system keeps, without shards.
  case plain(key: String)

  package var isThere: Bool { self != .nowhere }
}

extension AudienceReader {
  package func place(
    of user: String, following streamer: String
  ) async throws(DevicesError) -> FollowPlace {
    try DeviceRegistry.check(user)
    let heading = try await redis.audienceHeading(of: streamer, keyspace)
    if heading.exists {
      let key = heading.places(of: user, following: streamer, keyspace)[0]
      guard try await holds(user, key) else { return .nowhere }
      return .shard(
        index: Keyspace.shard(of: user, shards: heading.shards), of: heading.shards)
    }
    guard let key = plainSet?.key(of: streamer), try await holds(user, key) else {
      return .nowhere
    }
    return .plain(key: key)
  }

  private func holds(_ user: String, _ key: String) async throws(DevicesError) -> Bool {
    let replies = try await redis.replies(to: [["SISMEMBER", key, user]])
    if let error = replies.firstError { throw DevicesError(reply: error.message) }
    return replies[0].integer == 1
  }
}
