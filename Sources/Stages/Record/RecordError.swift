import Model
import Redis

/// Why something could not be recorded.
package typealias RecordError = StoreError<RecordErrorCode>

package enum RecordErrorCode: StoreErrorCode {
  /// Redis did not do what it was asked; whoever waits repeats the call.
  case redis(RedisError.Code)
  /// A key holds a value that none of us wrote.
  case badContent
  /// Our clock and Redis' differ over whether an event has expired: wait until they agree.
  case clocksDisagree

  package var ofRedis: RedisError.Code? { if case .redis(let code) = self { code } else { nil } }
  package var isTransientItself: Bool { self == .clocksDisagree }
}

extension RecordError {
  /// Both in ms since 1970.
  package static func clocksDisagree(
    over event: Event, ours: Int64, redis: Int64
  ) -> RecordError {
    RecordError(
      .clocksDisagree,
      "this worker's clock is \((ours &- redis) / 1000) s ahead of Redis', and event \(event.id) "
        + "has expired by one of them only: set the clocks (NTP)")
  }

  static func badContent(_ message: String) -> RecordError { RecordError(.badContent, message) }

  static func unexpected(_ kind: RedisReply.Kind, from what: String) -> RecordError {
    RecordError(RedisError.unexpected(kind, from: what))
  }
}
