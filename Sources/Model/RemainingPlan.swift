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
