/// One unit of work: an event and one follower shard, or the stragglers of one. It is done or not
/// done, never half done.
package struct Segment: Sendable, Equatable {
  package enum Slice: Sendable, Equatable {
    case shard(index: Int, generation: Int)
    case plain(key: String)
    /// Of what the event's expression selects, the users whose shard of as many shards as the
    /// fan-out has segments is this one.
    case part(index: Int)
    /// The users that the event names.
    case named
    case stragglers(StragglerList)

    /// Its name among the segments of an audience.
    package var id: String {
      switch self {
      case .shard(let index, let generation): "\(generation).\(index)"
      case .plain: "plain"
      case .part(let index): "part.\(index)"
      case .named: "named"
      case .stragglers(let list): list.id
      }
    }
  }

  package let event: Event
  package let slice: Slice
  /// How many segments its audience has; stragglers come on top.
  package let count: Int
  /// Of an event for a local hour the wave: the readers whose clocks show the hour then. Nil for
  /// all others.
  package let wave: Int?

  /// All of a fan-out of one shard, or stragglers of it: a few thousand pushes. A plain set is one
  /// segment of any size, and followers among other lists may be one.
  package var isOfSmall: Bool {
    switch slice {
    case .plain: false
    case .part: count == 1 && !event.readsFollowersAmongOthers
    case .shard, .named, .stragglers: count == 1
    }
  }

  /// - Parameter event: of a wave, as `Event.inWave` has it.
  package init(event: Event, slice: Slice, count: Int, wave: Int? = nil) {
    self.event = event
    self.slice = slice
    self.count = count
    self.wave = wave
  }

  /// Its name within a fan-out: the member of `ff:{e:<event>}:settled`. That of stragglers has the
  /// wave in it already.
  package var id: String {
    guard let wave, stragglers == nil else { return slice.id }
    return Self.id(slice.id, wave: wave)
  }

  /// The name of a wave's segment, of the name that it has in each.
  package static func id(_ name: String, wave: Int) -> String { "\(name)@\(wave)" }

  /// How many segments the fan-out was planned with, in all its waves; stragglers come on top.
  package var planned: Int { count * event.waveCount }

  /// A fan-out of more segments is bulk: it has a topic and places of its own, so that one of usual
  /// size never stands behind a giant.
  package static let maximumOfUsual = 64

  package var stragglers: StragglerList? {
    if case .stragglers(let list) = slice { list } else { nil }
  }

  /// A segment for pushes that left this one without an outcome. `number` makes its name one that
  /// no other run of this segment gives away: what another run wrote stands for other pushes.
  package func straggling(_ pushes: [Straggler], number: UInt64) -> Segment {
    let root = id.prefix { $0 != StragglerList.mark }
    let digits = String(number, radix: 16)
    let padding = String(repeating: "0", count: 16 - digits.count)
    let list = StragglerList(
      id: "\(root)\(StragglerList.mark)\(padding)\(digits)", parent: id, pushes: pushes)
    return Segment(event: event, slice: .stragglers(list), count: count, wave: wave)
  }
}
