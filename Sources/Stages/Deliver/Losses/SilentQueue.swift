import Model

/// Pushes that were never answered in connections that were well. They endanger none, and go
/// together, with all the time that a request has: what answers late is accepted then. Those of a
/// large segment leave it as stragglers first: each would keep a batch of its neighbours' payloads
/// in memory for as long. A pure machine.
struct SilentQueue {
  /// A segment of more pushes keeps much in memory until the last of them has its outcome.
  static let fewPushes = 64

  private var pushes: [ReadyPush] = []
  private var leaving: [ReadyPush] = []

  /// All that are here.
  var count: Int { pushes.count + leaving.count }
  /// Those that wait for a connection, and not for their segment to let them go.
  var readyCount: Int { pushes.count }

  mutating func append(_ push: ReadyPush) {
    if Self.isKeptFor(push.tally) { pushes.append(push) } else { leaving.append(push) }
  }

  private static func isKeptFor(_ tally: SegmentTally) -> Bool {
    guard tally.mayStraggle else { return true }
    // What has left its segment waits for the segment's end: this one leaves it too.
    return tally.pushes <= fewPushes && tally.stragglers.isEmpty
  }

  /// Those that go now.
  mutating func next(atMost limit: Int) -> [ReadyPush] {
    guard limit > 0, !pushes.isEmpty else { return [] }
    let (kept, gone) = pushes.reduce(into: ([ReadyPush](), [ReadyPush]())) {
      if Self.isKeptFor($1.tally) { $0.0.append($1) } else { $0.1.append($1) }
    }
    leaving += gone
    pushes = Array(kept.dropFirst(limit))
    return Array(kept.prefix(limit))
  }

  mutating func take(where isWanted: (ReadyPush) -> Bool) -> [ReadyPush] {
    guard count > 0 else { return [] }
    let taken = (pushes + leaving).filter(isWanted)
    guard !taken.isEmpty else { return [] }
    pushes.removeAll(where: isWanted)
    leaving.removeAll(where: isWanted)
    return taken
  }
}
