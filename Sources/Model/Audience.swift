/// Where a streamer's followers are in Redis.
package enum Audience: Sendable, Equatable {
  /// Follower shards that Fanfare writes: `shards` is a power of two.
  case sharded(shards: Int, generation: Int, followers: Int)
  /// One plain set that another system keeps; read in place as a single segment.
  case plain(key: String)
  /// No followers are known.
  case none

  package var segmentCount: Int {
    switch self {
    case .sharded(let shards, _, _): shards
    case .plain: 1
    case .none: 0
    }
  }
}

extension Audience {
  /// One segment per follower shard, in shard order.
  package func segments(of event: Event) -> [Segment] {
    switch self {
    case .sharded(let shards, let generation, _):
      (0..<shards).map {
        Segment(event: event, slice: .shard(index: $0, generation: generation), count: shards)
      }
    case .plain(let key): [Segment(event: event, slice: .plain(key: key), count: 1)]
    case .none: []
    }
  }
}
