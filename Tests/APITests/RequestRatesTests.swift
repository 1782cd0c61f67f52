import Testing

@testable import API

@Suite struct RequestRatesTests {
  private static let second: UInt64 = 1_000_000_000

  @Test func aBurstThenTheRate() {
    var rates = RequestRates<String>(perSecond: 2, burst: 3)
    for _ in 0..<3 { #expect(rates.take("a", now: 0) == nil) }
    #expect(rates.take("a", now: 0) == 0.5)
    #expect(rates.take("a", now: Self.second / 2) == nil)
    #expect(rates.take("a", now: Self.second / 2) == 0.5)
  }

  @Test func whoWasQuietHasNoMoreThanABurst() {
    var rates = RequestRates<String>(perSecond: 2, burst: 3)
    #expect(rates.take("a", now: 0) == nil)
    for _ in 0..<3 { #expect(rates.take("a", now: 3600 * Self.second) == nil) }
    #expect(rates.take("a", now: 3600 * Self.second) != nil)
  }

  /// As of two threads, of which the one that looked at the clock first came last.
  @Test func anEarlierTimeFillsNothing() {
    var rates = RequestRates<String>(perSecond: 2, burst: 3)
    for _ in 0..<3 { #expect(rates.take("a", now: Self.second) == nil) }
    #expect(rates.take("a", now: Self.second - 1) == 0.5)
    #expect(rates.take("a", now: Self.second) == 0.5)
    #expect(rates.take("a", now: 3 * Self.second / 2) == nil)
  }

  @Test func othersAreOthers() {
    var rates = RequestRates<String>(perSecond: 1, burst: 1)
    #expect(rates.take("a", now: 0) == nil)
    #expect(rates.take("a", now: 0) != nil)
    #expect(rates.take("b", now: 0) == nil)
  }

  @Test func manyDoNotFillTheMemory() {
    var rates = RequestRates<Int>(perSecond: 1, burst: 2, maximumBuckets: 8)
    for somebody in 0..<1000 { #expect(rates.take(somebody, now: 0) == nil) }
    #expect(rates.count <= 8)
  }
}
