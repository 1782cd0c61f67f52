import Model
import Redis

/// Why something could not be recorded.
package typealias RecordError = StoreError<RecordErrorCode>

package enum RecordErrorCode: StoreErrorCode {
  /// Redis did not do what it was asked; whoever waits repeats the call.
  case redis(RedisError.Code)
  /// A key holds a value that none of us wrote.
  case badContent
  /// A key holds more than is read of one.
  case tooLarge
  /// Our clock is so far ahead of Redis', and they differ over whether an event has expired. A
  /// little is waited for until they agree.
  case clocksDisagree(milliseconds: Int64)

  package var ofRedis: RedisError.Code? { if case .redis(let code) = self { code } else { nil } }
  package var isOfClocks: Bool { if case .clocksDisagree = self { true } else { false } }

  /// Clocks that are kept right differ by far less.
  private static let bearableMilliseconds: Int64 = 5000

  package var isTransientItself: Bool {
    if case .clocksDisagree(let ahead) = self { ahead <= Self.bearableMilliseconds } else { false }
  }
}

extension RecordError {
  /// Both in ms since 1970.
  package static func clocksDisagree(over event: Event, ours: Int64, redis: Int64) -> RecordError {
    RecordError(
      .clocksDisagree(milliseconds: ours &- redis),
      "this worker's clock is \((ours &- redis) / 1000) s ahead of Redis', and event \(event.id) "
        + "has expired by one of them only: set the clocks (NTP)")
  }

  /// How far our clock is ahead, where waiting would be for too long.
  package var clockAhead: Duration? {
    guard case .clocksDisagree(let ahead) = code, !isTransient else { return nil }
    return .milliseconds(ahead)
  }

  static func badContent(_ message: String) -> RecordError { RecordError(.badContent, message) }

  static func tooLarge(_ message: String) -> RecordError { RecordError(.tooLarge, message) }

  static func unexpected(_ kind: RedisReply.Kind, from what: String) -> RecordError {
    RecordError(RedisError.unexpected(kind, from: what))
  }
}
