import Keyspace
import Model

/// The keys that hold a segment's users in one list, one after the other: mostly one. After a
/// resharding, and for a part of what an expression selects, they are those of the list's current
/// generation that hold the same users. A pure machine.
struct FollowerKeys {
  /// Of streamers or of tags.
  private let keyspace: Keyspace
  /// The streamer or the tag.
  private let list: String
  /// Which shard of how many the users are in.
  private let index: Int
  private let count: Int
  /// The generation that is divided just so; nil where none is known to be.
  private let own: Int?
  private var keys: [String]
  private var position = 0
  /// The generation being read; nil for what has none.
  private(set) var generation: Int?

  init(shard index: Int, of count: Int, generation: Int, of list: String, keyspace: Keyspace) {
    self.keyspace = keyspace
    self.list = list
    self.index = index
    self.count = count
    own = generation
    self.generation = generation
    keys = [keyspace.followerShard(streamer: list, generation: generation, shard: index)]
  }

  /// A plain set, or what of it is in one part of several.
  init(plain key: String, of list: String, part: (index: Int, count: Int), keyspace: Keyspace) {
    self.keyspace = keyspace
    self.list = list
    (index, count) = part
    own = nil
    keys = [key]
  }

  /// The keys of one part of a list.
  init(
    part: (index: Int, count: Int), of list: String, _ heading: FollowerHeading,
    keyspace: Keyspace
  ) {
    self.init(plain: "", of: list, part: part, keyspace: keyspace)
    turn(to: heading)
  }

  /// The hash that says how the list is divided.
  var headingKey: String { keyspace.followers(of: list) }

  /// The key to read; nil when all were read.
  var current: String? { position < keys.count ? keys[position] : nil }

  mutating func advance() { position += 1 }

  mutating func end() { position = keys.count }

  /// Turns to the generation that a heading names. Shards are powers of two and a user's shard is a
  /// remainder: this segment's users are in one shard of fewer, or in some of more. False when that
  /// generation is the one being read.
  mutating func follow(_ heading: FollowerHeading) -> Bool {
    guard let generation, heading.generation != generation else { return false }
    turn(to: heading)
    return true
  }

  private mutating func turn(to heading: FollowerHeading) {
    let count = max(1, count)
    let shards: [Int]
    if heading.shards % count == 0 {
      shards = Array(stride(from: index, to: heading.shards, by: count))
    } else if count % heading.shards == 0 {
      shards = [index % heading.shards]
    } else {
      shards = Array(0..<heading.shards)
    }
    generation = heading.generation
    keys = shards.map {
      keyspace.followerShard(streamer: list, generation: heading.generation, shard: $0)
    }
    position = 0
  }

  /// Which users are this segment's, when what is read is divided otherwise.
  var foreignShard: (index: Int, count: Int)? {
    if let own { return own == generation ? nil : (index, count) }
    return count > 1 ? (index, count) : nil
  }
}
