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

  @Test func expiresWhatWouldComeTooLate() {
    #expect(policy.decide(tries: 1, remainingMilliseconds: 0, chance: 0) == .expire)
    #expect(policy.decide(tries: 1, remainingMilliseconds: -5, chance: 0) == .expire)
    #expect(policy.decide(tries: 1, remainingMilliseconds: 100, chance: 0) == .expire)
    #expect(
      policy.decide(tries: 1, remainingMilliseconds: 101, chance: 0)
        == .retry(after: .milliseconds(100)))
    #expect(policy.decide(tries: 30, remainingMilliseconds: 14_000, chance: 0) == .expire)
  }
}
