import Text

/// Pushes that go at an even rate, one token each.
extension TokenBucket {
  /// Pushes that go at once at most, in seconds of the rate.
  private static let pacedBurst = 0.003

  static func burst(of rate: Double) -> Double { max(1, rate * pacedBurst) }

  /// Pushes that may go now.
  mutating func allowance(_ rate: Double, at now: UInt64) -> Int {
    fill(rate, burst: Self.burst(of: rate), at: now)
    return max(0, Int(tokens))
  }

  /// Pushes have gone, also such as did not ask, as probes do not. No more than those of a round
  /// are owed.
  mutating func sent(_ pushes: Int, _ rate: Double) {
    take(Double(pushes), debt: rate * Double(Overload.round) / 1_000_000_000)
  }

  /// When the next push may go; nil when one may go now.
  func opensAt(_ rate: Double, _ now: UInt64) -> UInt64? {
    guard tokens(rate, at: now) < 1 else { return nil }
    // A loop that wakes more often than each millisecond has no time for anything else.
    return now &+ max(1_000_000, wait(rate, at: now))
  }
}
