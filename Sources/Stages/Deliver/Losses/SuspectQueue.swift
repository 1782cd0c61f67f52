import Model

/// Pushes that were in flight in a lost connection, or were never answered: one of them may be why.
/// Those that were lost together are sent again in some groups, each alone on a connection for
/// helpers, so that ordinary traffic is disturbed once; what is lost with a group is divided again,
/// until the guilty is known. A good push is sent again once or twice, whatever was lost with it.
struct SuspectQueue {
  /// How many groups those lost together make. With more, fewer are sent again for nothing, and all
  /// take longer: of 235 (Apple's window) 15 go together, and of these each alone.
  static let groups = 16
  private struct Lineup {
    var pushes: [ReadyPush]
    /// Size of a group.
    let together: Int
  }

  private var lineups: [Lineup] = []
  /// Lost alone: very likely guilty, so that all others go first.
  private var likely: [ReadyPush] = []
  private(set) var count = 0

  /// Takes what was lost together.
  mutating func append(_ lost: [ReadyPush]) {
    guard let first = lost.first else { return }
    count += lost.count
    if lost.count == 1, first.history.losses > 1 {
      likely.append(first)
    } else {
      let together = (lost.count + Self.groups - 1) / Self.groups
      lineups.append(Lineup(pushes: lost, together: together))
    }
  }

  /// Groups that wait.
  var groupCount: Int {
    lineups.reduce(likely.count) { $0 + ($1.pushes.count + $1.together - 1) / $1.together }
  }

  /// The next, if it was lost alone before.
  var nextLikely: ReadyPush? { lineups.isEmpty ? likely.first : nil }

  /// The next that go together; empty when none wait.
  mutating func nextGroup(atMost limit: Int) -> [ReadyPush] {
    guard limit > 0, count > 0 else { return [] }
    guard !lineups.isEmpty else {
      count -= 1
      return [likely.removeFirst()]
    }
    let size = min(lineups[0].together, lineups[0].pushes.count, limit)
    let group = Array(lineups[0].pushes.suffix(size))
    lineups[0].pushes.removeLast(size)
    if lineups[0].pushes.isEmpty { lineups.removeFirst() }
    count -= size
    return group
  }

  mutating func takeExpired(at milliseconds: Int64) -> [ReadyPush] {
    take { $0.batch.headers.expiresAt <= milliseconds }
  }

  mutating func take(where isWanted: (ReadyPush) -> Bool) -> [ReadyPush] {
    guard count > 0 else { return [] }
    var taken = likely.filter(isWanted)
    if !taken.isEmpty { likely.removeAll(where: isWanted) }
    for index in lineups.indices {
      let some = lineups[index].pushes.filter(isWanted)
      guard !some.isEmpty else { continue }
      taken += some
      lineups[index].pushes.removeAll(where: isWanted)
    }
    lineups.removeAll { $0.pushes.isEmpty }
    count -= taken.count
    return taken
  }
}
