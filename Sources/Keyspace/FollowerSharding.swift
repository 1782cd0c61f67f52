extension Keyspace {
  /// The shard of a streamer's followers that holds this user: CRC-32 of the id's bytes mod
  /// `shards`. `shards` comes from Redis; below one it counts as one.
  package static func shard(of user: UnsafeRawBufferPointer, shards: Int) -> Int {
    shards > 1 ? Int(CRC32.checksum(user)) % shards : 0
  }

  package static func shard(of user: String, shards: Int) -> Int {
    var user = user
    return user.withUTF8 { shard(of: UnsafeRawBufferPointer($0), shards: shards) }
  }

  /// Members that a follower shard should hold: one segment's work, a second or less of pushing.
  package static let targetShardFollowers = 2_048

  /// Shards of a streamer at most: 134 million followers at the target.
  package static let maximumShards = 65_536

  /// Whether a heading may say so: a power of two up to `maximumShards`.
  package static func isShardCount(_ shards: Int) -> Bool {
    shards >= 1 && shards <= maximumShards && shards & (shards - 1) == 0
  }

  /// The least power of two that keeps shards at or below `targetShardFollowers` on the average.
  package static func recommendedShards(followers: Int) -> Int {
    var shards = 1
    while shards < 1 << 30,
      followers / shards > targetShardFollowers
        || (followers / shards == targetShardFollowers && followers % shards != 0)
    {
      shards *= 2
    }
    return shards
  }
}
