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
  /// The event addresses no known user.
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
  /// One segment per follower shard or part, in their order; of an event for a local hour as many
  /// for each wave, one wave after the other.
  package func segments(of event: Event) -> [Segment] {
    guard event.waveCount > 1 else {
      return slices.map { Segment(event: event, slice: $0, count: segmentCount) }
    }
    return (0..<event.waveCount).flatMap { wave in
      let event = event.inWave(wave)
      return slices.map { Segment(event: event, slice: $0, count: segmentCount, wave: wave) }
    }
  }

  /// The names of the segments of all waves, in their order.
  package func segmentIDs(waves: Int) -> [String] {
    guard waves > 1 else { return slices.map(\.id) }
    return (0..<waves).flatMap { wave in slices.map { Segment.id($0.id, wave: wave) } }
  }

  var slices: [Segment.Slice] {
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
