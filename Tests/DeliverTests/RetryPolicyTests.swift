import Testing

@testable import Deliver

@Suite struct RetryPolicyTests {
  let policy = RetryPolicy(initial: .milliseconds(200), maximum: .seconds(30))

  @Test func doublesAndJittersAndStopsAtTheMaximum() {
    for tries in 1...40 {
      let full = min(Duration.milliseconds(200) * (1 << min(tries - 1, 20)), .seconds(30))
      for chance in [UInt64(0), 511, 1023, .max] {
        let delay = policy.backOff(tries: tries, chance: chance)
        #expect(delay >= full / 2 && delay < full)
      }
    }
  }

  @Test func spreadsTheTries() {
    let delays = Set((0..<100).map { policy.backOff(tries: 3, chance: $0 &* 37) })
    #expect(delays.count > 50)
  }

  @Test func triesOnceMoreJustBeforeTheExpiryWhenTheDelayWouldEndAfterIt() {
    let margin = policy.initial
    for remaining in [Int64(10_000), 14_000, 5_000, 700] {
      #expect(
        policy.delay(tries: 30, remainingMilliseconds: remaining, chance: 0)
          == .milliseconds(remaining) - margin)
    }
    #expect(
      policy.delay(tries: 30, remainingMilliseconds: 15_001, chance: 0)
        == .seconds(15))
  }

  @Test func expiresWhatHasNoTimeLeft() {
    for remaining in [Int64(-5), 0, 100, 399] {
      #expect(policy.delay(tries: 2, remainingMilliseconds: remaining, chance: 1023) == nil)
    }
    #expect(
      policy.delay(tries: 1, remainingMilliseconds: 101, chance: 0)
        == .milliseconds(100))
  }

  @Test func waitsAsLongAsTheServerAskedFor() {
    #expect(
      policy.delay(tries: 1, remainingMilliseconds: 60_000, atLeast: .seconds(7), chance: 0)
        == .seconds(7))
    #expect(
      policy.delay(tries: 1, remainingMilliseconds: 60_000, atLeast: .seconds(90), chance: 0)
        == .milliseconds(60_000) - policy.initial)
    #expect(
      policy.delay(tries: 30, remainingMilliseconds: 60_000, atLeast: .seconds(1), chance: 0)
        == .seconds(15))
  }
}
