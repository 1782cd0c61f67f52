/// The segments of an event that are not in Kafka yet. Those of a very large event are brought
/// there a window at a time, so that those of another such event come between them, and whoever
/// reads the record behind a window writes the next one. Those of an event for a local hour are
/// brought there a wave at a time, when it is due.
package struct RemainingPlan: Sendable, Equatable {
  package let event: Event
  /// Of the streamer's followers; nil for the parts of what an expression selects.
  package let generation: Int?
  /// The plain set that is the only segment of each wave. It is in no record.
  let plain: String?
  /// How many segments each wave has: one for each shard or part.
  package let count: Int
  /// The first that is not there, of all waves together.
  package let first: Int

  package init(event: Event, generation: Int?, count: Int, first: Int) {
    self.init(event: event, generation: generation, plain: nil, count: count, first: first)
  }

  private init(event: Event, generation: Int?, plain: String?, count: Int, first: Int) {
    self.event = event
    self.generation = generation
    self.plain = plain
    self.count = count
    self.first = first
  }

  /// All segments of an audience.
  package init(event: Event, audience: Audience) {
    var (generation, plain): (Int?, String?) = (nil, nil)
    switch audience {
    case .sharded(_, let current, _): generation = current
    case .plain(let key): plain = key
    case .selected, .named, .none: break
    }
    self.init(
      event: event, generation: generation, plain: plain, count: audience.segmentCount, first: 0)
  }

  /// How many segments the fan-out was planned with, in all waves.
  package var total: Int { count * event.waveCount }

  /// How many of them may be in Kafka at a time, in ms since 1970: those of the waves that are due.
  package func due(at now: Int64) -> Int {
    let waves = (0..<event.waveCount).prefix { event.due(ofWave: $0).map { $0 <= now } ?? true }
    return waves.count * count
  }

  /// When the wave of a segment is due, in ms since 1970; nil: at once.
  package func due(of segment: Int) -> Int64? { event.due(ofWave: segment / max(count, 1)) }

  /// Some of the segments, in their order.
  package func segments(_ indices: Range<Int>) -> [Segment] {
    indices.map { index in
      guard event.waveCount > 1 else {
        return Segment(event: event, slice: slice(index), count: count)
      }
      let (wave, number) = index.quotientAndRemainder(dividingBy: max(count, 1))
      return Segment(
        event: event.inWave(wave), slice: slice(number), count: count, wave: wave)
    }
  }

  private func slice(_ index: Int) -> Segment.Slice {
    if let plain { return .plain(key: plain) }
    if case .users = event.audience { return .named }
    return generation.map { .shard(index: index, generation: $0) } ?? .part(index: index)
  }

  package func after(_ next: Int) -> RemainingPlan {
    RemainingPlan(event: event, generation: generation, plain: plain, count: count, first: next)
  }
}
