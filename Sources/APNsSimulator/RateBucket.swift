/// A server that accepts so many requests a second: what it has left for a burst of a tenth of
/// that.
struct RateBucket {
  private var left = 0.0
  /// Monotonic nanoseconds; 0: nothing was taken yet.
  private var lastTaken: UInt64 = 0

  /// - Parameter rate: requests a second.
  /// - Returns: whether there was one left.
  mutating func take(rate: Int, now: UInt64) -> Bool {
    let burst = max(1, Double(rate) / 10)
    let gained = Double(now &- lastTaken) * Double(rate) / 1e9
    left = lastTaken == 0 ? burst : min(burst, left + gained)
    lastTaken = now
    guard left >= 1 else { return false }
    left -= 1
    return true
  }
}
