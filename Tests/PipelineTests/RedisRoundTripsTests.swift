import Redis
import Testing

@testable import Pipeline

@Suite struct RedisRoundTripsTests {
  @Test func answersAreTimedAndSilenceIsCounted() {
    let trips = RedisRoundTrips()
    trips.observe(nanoseconds: 1_500_000, nil)
    trips.observe(nanoseconds: 3_000_000, nil)
    for code in [RedisError.Code.timeout, .connectionLost, .unavailable] {
      trips.observe(nanoseconds: 9_000_000, code)
    }
    // A lane that stops, and a page that must be smaller.
    trips.observe(nanoseconds: 9_000_000, .closed)
    trips.observe(nanoseconds: 9_000_000, .replyTooLarge)
    #expect(trips.times.count == 2 && trips.times.seconds == 0.004_5)
    #expect(trips.failures == 3)
  }
}
