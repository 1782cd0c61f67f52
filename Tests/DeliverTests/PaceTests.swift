import Testing

@testable import Deliver

@Suite struct PaceTests {
  private static let second: UInt64 = 1_000_000_000
  private static let millisecond: UInt64 = 1_000_000

  private func sent(
    _ pace: inout Pace, _ rate: Double, from start: UInt64, seconds: UInt64 = 2
  ) -> Int {
    var sent = 0
    for now in stride(from: start, to: start + seconds * Self.second, by: 1_000_000) {
      let allowed = pace.allowance(rate, at: now)
      pace.take(allowed, rate)
      sent += allowed
    }
    return sent
  }

  @Test(arguments: [(10.0, 20), (400, 800), (5_000, 10_000)])
  func soManyGoInASecond(rate: Double, expected: Int) {
    var pace = Pace()
    pace.begin(at: Self.second)
    let sent = sent(&pace, rate, from: Self.second)
    #expect(abs(sent - expected) <= max(2, expected / 100))
  }

  /// Who has sent nothing for long saves up no burst.
  @Test(arguments: [(10.0, 1), (5_000, 15)])
  func littleIsSavedUp(rate: Double, most: Int) {
    var pace = Pace()
    pace.begin(at: 0)
    #expect(pace.allowance(rate, at: 60 * Self.second) == most)
  }

  @Test func whatWentBesidesIsPaidBackButNotForLong() {
    var pace = Pace()
    pace.begin(at: 0)
    pace.take(1_000, 10)
    #expect(pace.allowance(10, at: 290 * Self.millisecond) == 0)
    #expect(pace.allowance(10, at: 310 * Self.millisecond) == 1)
  }

  @Test func itTellsWhenTheNextMayGo() {
    var pace = Pace()
    pace.begin(at: 0)
    #expect(pace.opensAt(10, 0) == 100 * Self.millisecond)
    #expect(pace.opensAt(10, 50 * Self.millisecond) == 100 * Self.millisecond)
    #expect(pace.opensAt(10, 100 * Self.millisecond) == nil)
    // Not more often than each millisecond.
    #expect(pace.opensAt(1_000_000, 0) == Self.millisecond)
  }
}
