import Testing
import Text

@Suite struct TokenBucketTests {
  private static let second: UInt64 = 1_000_000_000

  @Test func noMoreThanABurstIsSavedUp() {
    var bucket = TokenBucket(tokens: 2, at: 0)
    bucket.fill(10, burst: 5, at: Self.second / 10)
    #expect(bucket.tokens == 3)
    bucket.fill(10, burst: 5, at: 60 * Self.second)
    #expect(bucket.tokens == 5)
  }

  @Test func aDebtIsBounded() {
    var bucket = TokenBucket()
    bucket.take(100, debt: 4)
    #expect(bucket.tokens == -4)
    #expect(bucket.wait(2, at: 0) == 2 * Self.second + Self.second / 2)
    #expect(bucket.wait(for: 2, 2, at: Self.second) == 2 * Self.second)
    #expect(bucket.wait(2, at: 3 * Self.second) == 0)
  }

  @Test func aTimeBeforeTheLastFillAddsNothing() {
    var bucket = TokenBucket(tokens: 1, at: 7 * Self.second)
    bucket.fill(10, burst: 5, at: 2 * Self.second)
    #expect(bucket.tokens == 1 && bucket.tokens(10, at: 3 * Self.second) == 1)
    bucket.fill(1, burst: 5, at: 8 * Self.second)
    #expect(bucket.tokens == 2)
  }
}
