import Testing

@testable import Pipeline

/// How long pushes rest that must wait.
@Suite struct StragglerTimesTests {
  private let times = StragglerTimes(delay: .seconds(5), wallClock: { 10_000 })

  @Test(arguments: [
    // Long before the expiry, and where the rest just fits.
    (60_000, 5_000), (16_000, 5_000),
    // The last try is a second before it.
    (15_000, 4_000), (11_001, 1),
    // No try comes in time, so that the order of the topic counts again.
    (11_000, 5_000), (10_000, 5_000), (1_000, 5_000),
  ])
  func theLastTryIsBeforeTheExpiry(expiresAt: Int64, milliseconds: Int64) {
    #expect(times.rest(until: expiresAt) == .milliseconds(milliseconds))
  }

  @Test func whatIsLeftMayBeLessThanNothing() {
    #expect(times.left(until: 12_500) == .milliseconds(2_500))
    #expect(times.left(until: 9_000) == .seconds(-1))
  }

  /// A worker whose clock is behind does not wait longer than the topic's delay.
  @Test(arguments: [(9_000, 0), (10_000, 0), (12_000, 2_000), (15_000, 5_000), (90_000, 5_000)])
  func noRecordRestsLongerThanItsTopic(notBefore: Int64, milliseconds: Int64) {
    #expect(times.rest(notBefore: notBefore) == .milliseconds(milliseconds))
  }
}
