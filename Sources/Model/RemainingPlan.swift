/// The segments of a very large event that are not in Kafka yet. They are brought there a window at
/// a time, so that those of another such event come between them, and whoever reads the record
/// behind a window writes the next one.
package struct RemainingPlan: Sendable, Equatable {
  package let event: Event
  package let generation: Int
  /// How many segments the fan-out was planned with: one for each shard.
  package let count: Int
  /// The first that is not there.
  package let first: Int

  package init(event: Event, generation: Int, count: Int, first: Int) {
    self.event = event
    self.generation = generation
    self.count = count
    self.first = first
  }

  /// Some of the segments, in the order of their shards.
  package func segments(_ shards: Range<Int>) -> [Segment] {
    shards.map {
      Segment(event: event, slice: .shard(index: $0, generation: generation), count: count)
    }
  }

  package func after(_ next: Int) -> RemainingPlan {
    RemainingPlan(event: event, generation: generation, count: count, first: next)
  }
}
