/// Where a streamer's followers stand in Redis.
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

/// One unit of work: an event and one follower shard. It is done or not done, never half done.
package struct Segment: Sendable, Equatable {
  package enum Slice: Sendable, Equatable {
    case shard(index: Int, generation: Int)
    case plain(key: String)
  }

  package let event: Event
  package let slice: Slice
  /// How many segments the fan-out has.
  package let count: Int

  package init(event: Event, slice: Slice, count: Int) {
    self.event = event
    self.slice = slice
    self.count = count
  }

  /// The segment's name within its fan-out: the member of `ff:{e:<event>}:settled`.
  package var id: String {
    switch slice {
    case .shard(let index, let generation): "\(generation).\(index)"
    case .plain: "plain"
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
