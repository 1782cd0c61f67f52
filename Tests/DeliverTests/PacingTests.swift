import Testing
import Text

@testable import Deliver

@Suite struct PacingTests {
  private static let second: UInt64 = 1_000_000_000
  private static let millisecond: UInt64 = 1_000_000

  private func sent(
    _ bucket: inout TokenBucket, _ rate: Double, from start: UInt64, seconds: UInt64 = 2
  ) -> Int {
    var sent = 0
    for now in stride(from: start, to: start + seconds * Self.second, by: 1_000_000) {
      let allowed = bucket.allowance(rate, at: now)
      bucket.sent(allowed, rate)
      sent += allowed
    }
    return sent
  }

  @Test(arguments: [(10.0, 20), (400, 800), (5_000, 10_000)])
  func soManyGoInASecond(rate: Double, expected: Int) {
    var bucket = TokenBucket(at: Self.second)
    let sent = sent(&bucket, rate, from: Self.second)
    #expect(abs(sent - expected) <= max(2, expected / 100))
  }

  /// A long time without pushes saves up no burst.
  @Test(arguments: [(10.0, 1), (5_000, 15)])
  func littleIsSavedUp(rate: Double, most: Int) {
    var bucket = TokenBucket()
    #expect(bucket.allowance(rate, at: 60 * Self.second) == most)
  }

  @Test func whatWentBesidesIsPaidBackButNotForLong() {
    var bucket = TokenBucket()
    bucket.sent(1_000, 10)
    #expect(bucket.allowance(10, at: 290 * Self.millisecond) == 0)
    #expect(bucket.allowance(10, at: 310 * Self.millisecond) == 1)
  }

  @Test func itTellsWhenTheNextMayGo() {
    let bucket = TokenBucket()
    #expect(bucket.opensAt(10, 0) == 100 * Self.millisecond)
    #expect(bucket.opensAt(10, 50 * Self.millisecond) == 100 * Self.millisecond)
    #expect(bucket.opensAt(10, 100 * Self.millisecond) == nil)
    // Not more often than each millisecond.
    #expect(bucket.opensAt(1_000_000, 0) == Self.millisecond)
  }
}
