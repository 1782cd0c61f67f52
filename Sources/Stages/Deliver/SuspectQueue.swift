import Model

/// Pushes that were in flight in a lost connection, or were never answered: one of them may be why.
/// They go over a connection of their own, so that ordinary traffic is disturbed once; those that
/// were lost twice go alone, so that the guilty is known.
struct SuspectQueue {
  /// What is sent again when one of them is guilty: few, and still 300 pushes a second at 100 ms.
  static let together = 32
  /// Lost in ordinary traffic, among suspects, and alone: it has had its chances.
  static let maximumLosses = 3

  private var several: [ReadyPush] = []
  private var alone: [ReadyPush] = []
  /// One that must be alone is in flight.
  private var isAlone = false

  var count: Int { several.count + alone.count }

  mutating func append(_ push: ReadyPush) {
    if push.history.losses > 1 { alone.append(push) } else { several.append(push) }
  }

  /// The next to be sent while `inFlight` of them are.
  mutating func next(inFlight: Int) -> ReadyPush? {
    if inFlight == 0 {
      isAlone = false
      if let push = alone.popLast() {
        isAlone = true
        return push
      }
    }
    // Who must be alone waits for those in flight, and nobody is added to them.
    guard !isAlone, alone.isEmpty || inFlight == 0, inFlight < Self.together else { return nil }
    return several.popLast()
  }

  mutating func takeExpired(at milliseconds: Int64) -> [ReadyPush] {
    take { $0.batch.headers.expiresAt <= milliseconds }
  }

  mutating func take(of tally: SegmentTally) -> [ReadyPush] { take { $0.tally === tally } }

  private mutating func take(where isWanted: (ReadyPush) -> Bool) -> [ReadyPush] {
    let taken = several.filter(isWanted) + alone.filter(isWanted)
    guard !taken.isEmpty else { return [] }
    several.removeAll(where: isWanted)
    alone.removeAll(where: isWanted)
    return taken
  }
}
