import Keyspace
import Model

/// The keys that hold a segment's users, one after the other: mostly one. After a resharding they
/// are those of the new generation that hold the same users. A pure machine.
struct FollowerKeys {
  private let keyspace: Keyspace
  private let segment: Segment
  private var keys: [String]
  private var position = 0
  /// The generation being read; nil for what has none.
  private(set) var generation: Int?

  init(_ segment: Segment, keyspace: Keyspace) {
    self.keyspace = keyspace
    self.segment = segment
    switch segment.slice {
    case .shard(let index, let generation):
      self.generation = generation
      let streamer = segment.event.streamer
      keys = [
        keyspace.followerShard(streamer: streamer, generation: generation, shard: index)
      ]
    case .plain(let key): keys = [key]
    case .stragglers(let list): keys = [list.id]
    }
  }

  /// The key to read; nil when all were read.
  var current: String? { position < keys.count ? keys[position] : nil }

  mutating func advance() { position += 1 }

  mutating func end() { position = keys.count }

  /// Turns to the generation that a heading names. Shards are powers of two and a user's shard is a
  /// remainder: this segment's users are in one shard of fewer, or in some of more. False when that
  /// generation is the one being read.
  mutating func follow(_ heading: FollowerHeading) -> Bool {
    guard heading.generation != generation, case .shard(let index, _) = segment.slice
    else { return false }
    let count = max(1, segment.count)
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
      keyspace.followerShard(
        streamer: segment.event.streamer, generation: heading.generation, shard: $0)
    }
    position = 0
    return true
  }

  /// Which users are this segment's, when another generation than its own is read.
  var foreignShard: (index: Int, count: Int)? {
    guard case .shard(let index, let own) = segment.slice, own != generation else { return nil }
    return (index, segment.count)
  }
}
