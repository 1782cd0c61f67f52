import Testing

@testable import APNsSimulator

@Suite struct RateBucketTests {
  private static let start: UInt64 = 5_000_000_000

  @Test func burstIsATenthOfASecond() {
    var bucket = RateBucket()
    let taken = (0..<50).count { _ in bucket.take(rate: 100, now: Self.start) }
    #expect(taken == 10)
  }

  /// Asked ten times as often as it accepts.
  @Test func longRunIsTheRate() {
    var bucket = RateBucket()
    let taken = (0..<10_000).count {
      bucket.take(rate: 100, now: Self.start + UInt64($0) * 1_000_000)
    }
    #expect((1_000...1_010).contains(taken))
  }
}
