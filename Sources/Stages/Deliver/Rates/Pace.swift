/// So many pushes a second, evenly. A pure machine; times are monotonic nanoseconds.
struct Pace {
  /// What is sent at once at most, in seconds of the rate.
  private static let burst = 0.003
  /// What was sent beyond the rate is paid back for so many seconds at most.
  private static let longestDebt = 0.2

  private var credit = 0.0
  private var creditedAt: UInt64 = 0

  /// Nothing was earned before.
  mutating func begin(at now: UInt64) {
    credit = 0
    creditedAt = now
  }

  /// How many may go now.
  mutating func allowance(_ rate: Double, at now: UInt64) -> Int {
    credit = min(credit(rate, at: now), max(1, rate * Self.burst))
    creditedAt = now
    return max(0, Int(credit))
  }

  /// Pushes were sent; also such as did not ask, as probes do not. All others wait no longer than
  /// `longestDebt` for them.
  mutating func take(_ pushes: Int, _ rate: Double) {
    credit = max(credit - Double(pushes), -rate * Self.longestDebt)
  }

  /// When the next may go; nil when one may go now: who has the connection for it sends it then.
  func opensAt(_ rate: Double, _ now: UInt64) -> UInt64? {
    let credit = credit(rate, at: now)
    guard credit < 1 else { return nil }
    // A loop that wakes more often than each millisecond has no time for anything else.
    return now &+ max(1_000_000, UInt64((1 - credit) * 1_000_000_000 / rate))
  }

  /// With what was earned since it was looked at last.
  private func credit(_ rate: Double, at now: UInt64) -> Double {
    credit + Double(now &- creditedAt) * rate / 1_000_000_000
  }
}
