import Testing

@testable import Text

@Suite struct CounterRateTests {
  @Test func isThatOfTheLastTenSeconds() {
    var rate = CounterRate()
    #expect(rate.perSecond == nil)
    for second in 0...30 { rate.add(second < 10 ? 0 : (second - 10) * 5, at: ms(second)) }
    #expect(rate.perSecond == 5)
    for second in 31...40 { rate.add(100, at: ms(second)) }
    #expect(rate.perSecond == 0)
  }

  @Test func hasALeastTime() {
    var rate = CounterRate(leastMilliseconds: 2_000)
    rate.add(0, at: 0)
    rate.add(100, at: 1_000)
    #expect(rate.perSecond == nil)
    rate.add(1_000, at: 4_000)
    #expect(rate.perSecond == 250)
  }

  @Test func isThatOfTwoSamplesThatAreFarApart() {
    var rate = CounterRate()
    rate.add(0, at: 0)
    rate.add(600, at: 60_000)
    #expect(rate.perSecond == 10)
    // The first is beyond the window, and there are two others.
    rate.add(700, at: 61_000)
    #expect(rate.perSecond == 100)
  }

  @Test func beginsAgainWhereTimeOrCountGoBack() {
    var rate = CounterRate()
    rate.add(0, at: 10_000)
    rate.add(900, at: 13_000)
    rate.add(5, at: 14_000)
    #expect(rate.perSecond == nil)
    rate.add(25, at: 18_000)
    #expect(rate.perSecond == 5)
    rate.add(30, at: 1_000)
    #expect(rate.perSecond == nil)
  }

  @Test func leavesOutSamplesThatAreClose() {
    var rate = CounterRate()
    rate.add(0, at: 0)
    rate.add(1_000, at: 100)
    #expect(rate.perSecond == nil)
    rate.add(1_000, at: 200)
    #expect(rate.perSecond == 5_000)
  }

  private func ms(_ seconds: Int) -> Int64 { Int64(seconds) * 1000 }
}
