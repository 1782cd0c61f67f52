import Testing

@testable import Dashboard

@Suite struct PushRateTests {
  @Test func isThatOfTheLastTenSeconds() {
    var rate = PushRate()
    #expect(rate.perSecond == nil)
    rate.add(0, at: 0)
    rate.add(100, at: 1_000)
    // Too short a time to say anything.
    #expect(rate.perSecond == nil)
    rate.add(1_000, at: 4_000)
    #expect(rate.perSecond == 250)
    rate.add(1_000, at: 10_000)
    #expect(rate.perSecond == 100)
    rate.add(1_000, at: 14_000)
    #expect(rate.perSecond == 0)
  }

  @Test func beginsAgainWhereTimeOrCountGoBack() {
    var rate = PushRate()
    rate.add(0, at: 10_000)
    rate.add(900, at: 13_000)
    rate.add(5, at: 14_000)
    #expect(rate.perSecond == nil)
    rate.add(25, at: 18_000)
    #expect(rate.perSecond == 5)
    rate.add(30, at: 1_000)
    #expect(rate.perSecond == nil)
  }
}
