import Redis
import Telemetry

/// How long Redis took to answer a lane, and how often it did not. Confined to its lane.
final class RedisRoundTrips {
  private(set) var times = Histogram.answerTimes
  private(set) var failures = 0

  /// - Parameter failure: why there are no answers. One that is too large is no fault of Redis',
  ///   and a lane that stops closes its connection itself.
  func observe(nanoseconds: UInt64, _ failure: RedisError.Code?) {
    switch failure {
    case nil: times.observe(nanoseconds: nanoseconds)
    case .closed, .replyTooLarge, .invalidUse: return
    default: failures += 1
    }
  }
}
