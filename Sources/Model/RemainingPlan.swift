/// The segments of a very large event that are not in Kafka yet. They are brought there a window at
/// a time, so that those of another such event come between them, and whoever reads the record
/// behind a window writes the next one.
package struct RemainingPlan: Sendable, Equatable {
  package let event: Event
  /// Of the streamer's followers; nil for the parts of what an expression selects.
  package let generation: Int?
  /// How many segments the fan-out was planned with: one for each shard or part.
  package let count: Int
  /// The first that is not there.
  package let first: Int

  package init(event: Event, generation: Int?, count: Int, first: Int) {
    self.event = event
    self.generation = generation
    self.count = count
    self.first = first
  }

  /// All segments of an audience of several.
  package init(event: Event, audience: Audience) {
    var generation: Int?
    if case .sharded(_, let current, _) = audience { generation = current }
    self.init(event: event, generation: generation, count: audience.segmentCount, first: 0)
  }

  /// Some of the segments, in their order.
  package func segments(_ indices: Range<Int>) -> [Segment] {
    indices.map { index in
      let slice: Segment.Slice =
        generation.map { .shard(index: index, generation: $0) } ?? .part(index: index)
      return Segment(event: event, slice: slice, count: count)
    }
  }

  package func after(_ next: Int) -> RemainingPlan {
    RemainingPlan(event: event, generation: generation, count: count, first: next)
  }
}

/// Where the users whom an event addresses are found.
package enum Audience: Sendable, Equatable {
  /// Follower shards that Fanfare writes: `shards` is a power of two.
  case sharded(shards: Int, generation: Int, followers: Int)
  /// One plain set that another system keeps; read in place as a single segment.
  case plain(key: String)
  /// Users of several lists, or of a tag: in as many parts as the largest list that is read has
  /// shards. A user's part is the user's shard of as many.
  case selected(parts: Int)
  /// The event names its users itself.
  case named
  /// Nobody is known.
  case none

  package var segmentCount: Int {
    switch self {
    case .sharded(let shards, _, _): shards
    case .selected(let parts): parts
    case .plain, .named: 1
    case .none: 0
    }
  }
}

extension Audience {
  /// One segment per follower shard or part, in their order.
  package func segments(of event: Event) -> [Segment] {
    slices.map { Segment(event: event, slice: $0, count: segmentCount) }
  }

  package var slices: [Segment.Slice] {
    switch self {
    case .sharded(let shards, let generation, _):
      (0..<shards).map { .shard(index: $0, generation: generation) }
    case .plain(let key): [.plain(key: key)]
    case .selected(let parts): (0..<parts).map { .part(index: $0) }
    case .named: [.named]
    case .none: []
    }
  }
}
