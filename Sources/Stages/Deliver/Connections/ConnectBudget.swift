import EventLoop

/// Connections that a route may open in a while, whatever the reason: a bound on any storm.
struct ConnectBudget {
  static let perSecond: UInt64 = 20
  private static let burst: UInt64 = 20
  private static let cost: UInt64 = 1_000_000_000 / perSecond
  /// One that takes the place of a connection of use costs so much less: with GOAWAY after every
  /// hundred requests twenty a second would carry two thousand, and these carry forty thousand.
  static let earnedPerOther: UInt64 = 20

  /// When the budget would be untouched again, in monotonic nanoseconds.
  private var usedUntil: UInt64 = 0

  /// Nanoseconds until a connection may be opened; when 0, one is taken from the budget.
  ///
  /// - Parameters:
  ///   - isProbe: ordinary connections come first: half of the burst is theirs alone.
  ///   - isEarned: the one before it was of use (`ConnectionPlace.isEarned`).
  mutating func take(at now: UInt64, isProbe: Bool = false, isEarned: Bool = false) -> UInt64 {
    let wait = wait(at: now, isProbe: isProbe)
    guard wait == 0 else { return wait }
    usedUntil = max(usedUntil, now) + (isEarned ? Self.cost / Self.earnedPerOther : Self.cost)
    return 0
  }

  /// As `take`, without taking one.
  func wait(at now: UInt64, isProbe: Bool) -> UInt64 {
    let ahead = max(usedUntil, now) - now
    let room = ((isProbe ? Self.burst / 2 : Self.burst) - 1) * Self.cost
    return ahead <= room ? 0 : ahead - room
  }
}
