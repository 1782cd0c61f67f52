/// CRC-32 of IEEE 802.3: reflected, polynomial 0xEDB88320, start and final value all ones. What
/// zlib's `crc32`, Python's `zlib.crc32` and PHP's `crc32` compute, so that any backend can place a
/// follower.
package enum CRC32 {
  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in
      value & 1 == 0 ? value >> 1 : 0xEDB8_8320 ^ (value >> 1)
    }
  }

  package static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    table.withUnsafeBufferPointer { table in
      ~bytes.reduce(UInt32.max) { value, byte in
        table[Int(UInt8(truncatingIfNeeded: value) ^ byte)] ^ (value >> 8)
      }
    }
  }
}

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
