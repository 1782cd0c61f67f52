import Testing

@testable import Pipeline

/// How many records of stragglers are deferred at a time.
@Suite struct DeferralCountsTests {
  private func lastTry(_ counts: inout DeferralCounts, in left: Duration) -> Bool {
    counts.beginLastTry(in: left)
  }

  private func begun(_ counts: inout DeferralCounts, _ count: Int) -> [Bool] {
    (0..<count).map { _ in counts.begin() }
  }

  @Test func veryManyOnTheirWayKeepTheirSlots() {
    var counts = DeferralCounts(lanes: 1, delay: .seconds(5))
    let first = begun(&counts, DeferralCounts.maximumOnTheirWay + 2)
    #expect(first.count { $0 } == DeferralCounts.maximumOnTheirWay)
    #expect(first.suffix(2) == [false, false])
    // Two too many are there: the end of the third makes room for one.
    for _ in 0..<3 { counts.end() }
    #expect(begun(&counts, 2) == [true, false])
  }

  @Test(arguments: [
    (0, false), (-1, false), (1, true), (4_999, true),
    // It comes back from Kafka in time.
    (5_000, false), (9_000, false),
  ])
  func waitsForALastTryOnlyWhatKafkaWouldBringTooLate(milliseconds: Int, isTaken: Bool) {
    var counts = DeferralCounts(lanes: 1, delay: .seconds(5))
    #expect(lastTry(&counts, in: .milliseconds(milliseconds)) == isTaken)
  }

  @Test func noLastTryIsWaitedForLong() {
    var counts = DeferralCounts(lanes: 1, delay: .seconds(60))
    #expect(lastTry(&counts, in: DeferralCounts.longestLastTry))
    #expect(!lastTry(&counts, in: DeferralCounts.longestLastTry + .milliseconds(1)))
  }

  /// The bound is the worker's, and each lane has its share of it.
  @Test(arguments: [(1, 64), (4, 16), (100, 1)])
  func soManyWaitForALastTry(lanes: Int, maximum: Int) {
    var counts = DeferralCounts(lanes: lanes, delay: .seconds(5))
    let taken = (0..<maximum + 1).map { _ in lastTry(&counts, in: .seconds(1)) }
    #expect(taken.count { $0 } == maximum && taken.last == false)
    counts.endLastTry()
    #expect(lastTry(&counts, in: .seconds(1)))
    #expect(!lastTry(&counts, in: .seconds(1)))
    // What is on its way to Kafka is counted for itself.
    #expect(begun(&counts, 1) == [true])
  }
}
