import Model
import Redis

/// Why something could not be recorded.
package struct RecordError: TransientError, Sendable, Equatable, CustomStringConvertible {
  package enum Code: Sendable, Equatable {
    /// Redis did not do what it was asked; whoever waits repeats the call.
    case redis(RedisError.Code)
    /// A key holds a value that none of us wrote.
    case badContent
    /// Our clock and Redis' differ over whether an event has expired: wait until they agree.
    case clocksDisagree
  }

  package let code: Code
  package let message: String
  /// What lies beneath, in words.
  package let cause: String?

  package var isTransient: Bool {
    switch code {
    case .redis(let code): code.isTransient
    case .clocksDisagree: true
    case .badContent: false
    }
  }

  package var isUncertain: Bool {
    if case .redis(let code) = code { code.isUncertain } else { false }
  }

  package var isOutOfStep: Bool { code == .redis(.unexpected) }

  package var description: String { cause.map { "\(message): \($0)" } ?? message }

  init(_ code: Code, _ message: String, cause: String? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  init(_ error: RedisError) { self.init(.redis(error.code), error.message, cause: error.cause) }

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
