import EventLoop
import Ingest
import Kafka
import Text

/// When stragglers are tried again: it only reckons.
struct StragglerTimes: Sendable {
  /// The last try is so long before the expiry.
  static let lastTryBeforeExpiry: Duration = .seconds(1)

  /// How long stragglers rest.
  let delay: Duration
  /// In ms since 1970.
  let wallClock: @Sendable () -> Int64

  /// How long pushes rest that go to Kafka now: shorter than others at the end, so that they have a
  /// last try. After the expiry it is the same for all again.
  func rest(until expiresAt: Int64) -> Duration {
    let left = left(until: expiresAt) - Self.lastTryBeforeExpiry
    return left > .zero ? min(delay, left) : delay
  }

  func left(until expiresAt: Int64) -> Duration {
    .milliseconds(expiresAt - wallClock())
  }

  /// When a record of stragglers may be begun; 0: at once. Monotonic nanoseconds, as `now`.
  func due(_ message: KafkaMessage, now: UInt64) -> UInt64 {
    StragglerLabel(message).notBefore.map { now &+ rest(notBefore: $0).nanoseconds } ?? 0
  }

  /// Workers' clocks differ: a record rests no longer than the delay of its topic.
  func rest(notBefore due: Int64) -> Duration {
    min(.milliseconds(max(due - wallClock(), 0)), delay)
  }
}
