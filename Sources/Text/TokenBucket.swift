/// A token bucket: so many tokens a second, of which a burst may be saved up. Its owner knows the
/// rate, which may change. Times are monotonic nanoseconds. Pure.
package struct TokenBucket: Sendable {
  /// Below zero is a debt.
  package private(set) var tokens: Double
  private var filledAt: UInt64

  package init(tokens: Double = 0, at now: UInt64 = 0) {
    self.tokens = tokens
    filledAt = now
  }

  /// The tokens that are there at `now`, without a bound. A time before the last fill adds none.
  package func tokens(_ perSecond: Double, at now: UInt64) -> Double {
    now > filledAt ? tokens + Double(now - filledAt) * perSecond / 1_000_000_000 : tokens
  }

  /// Adds the tokens of the time since the last fill; no more than `burst` stay.
  package mutating func fill(_ perSecond: Double, burst: Double, at now: UInt64) {
    tokens = min(burst, tokens(perSecond, at: now))
    filledAt = max(filledAt, now)
  }

  /// Takes tokens, also such as are not there.
  /// - Parameter debt: no more is owed than this.
  package mutating func take(_ count: Double = 1, debt: Double = .infinity) {
    tokens = max(tokens - count, -debt)
  }

  /// Nanoseconds until so many tokens are there; 0 when they are.
  /// - Parameter perSecond: above 0.
  package func wait(for count: Double = 1, _ perSecond: Double, at now: UInt64) -> UInt64 {
    UInt64(max(0, (count - tokens(perSecond, at: now)) * 1_000_000_000 / perSecond))
  }
}
