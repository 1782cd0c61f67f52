import Text

/// Pushes that go at an even rate, one token each.
extension TokenBucket {
  /// Pushes that go at once at most, in seconds of the rate.
  private static let pacedBurst = 0.003
  /// The longest wait for pushes that went beyond the rate, in seconds.
  private static let longestDebt = 0.2

  /// Pushes that may go now.
  mutating func allowance(_ rate: Double, at now: UInt64) -> Int {
    fill(rate, burst: max(1, rate * Self.pacedBurst), at: now)
    return max(0, Int(tokens))
  }

  /// Pushes have gone, also such as did not ask, as probes do not.
  mutating func sent(_ pushes: Int, _ rate: Double) {
    take(Double(pushes), debt: rate * Self.longestDebt)
  }

  /// When the next push may go; nil when one may go now.
  func opensAt(_ rate: Double, _ now: UInt64) -> UInt64? {
    guard tokens(rate, at: now) < 1 else { return nil }
    // A loop that wakes more often than each millisecond has no time for anything else.
    return now &+ max(1_000_000, wait(rate, at: now))
  }
}
