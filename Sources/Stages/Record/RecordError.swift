import Model
import Redis

/// Why something could not be recorded.
package struct RecordError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: String, Sendable {
    /// No connection, no answer in time, or an answer that broke off: wait and repeat the call.
    case unavailable
    /// Redis takes no writes now (loading, busy, out of memory, a replica): wait and repeat the
    /// call.
    case refused
    /// User, password or permissions are wrong: tell the operator, wait and repeat the call.
    case notPermitted
    /// A key holds another type than ours; nothing was written.
    case wrongType
    /// A key holds a value that none of us wrote.
    case badContent
    /// Our clock and Redis' differ over whether an event has expired: wait until they agree.
    case clocksDisagree
    /// Redis answered what no version known to us answers.
    case unexpected
    /// The client was closed.
    case closed
  }

  package let code: Code
  package let message: String
  /// What lies beneath, in words.
  package let cause: String?

  /// Whether the same call may succeed later without anybody mending the data.
  package var isTransient: Bool {
    code == .unavailable || code == .refused || code == .notPermitted || code == .clocksDisagree
  }

  package var description: String { cause.map { "\(message): \($0)" } ?? message }

  init(_ code: Code, _ message: String, cause: String? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  init(_ error: RedisError) {
    switch error.code {
    case .closed: self.init(.closed, "the Redis client was closed")
    case .authentication:
      self.init(
        .notPermitted, "Redis refuses our user: check user name and password",
        cause: error.description)
    case .invalidUse:
      self.init(.unexpected, "Redis could not be asked", cause: error.description)
    case .unavailable, .loading, .refused, .connectionLost, .timeout, .protocolError,
      .replyTooLarge:
      self.init(.unavailable, "Redis does not answer", cause: error.description)
    }
  }

  init(reply: String) {
    let error = RedisErrorReply(reply)
    switch (error.kind, error.disposition) {
    case (.wrongType, _):
      self.init(
        .wrongType, "a Redis key of ours holds another type: RENAME or DEL it", cause: reply)
    case (_, .wait), (_, .alert):
      self.init(.refused, "Redis takes no writes now", cause: reply)
    case (_, .fatal):
      self.init(
        .notPermitted, "Redis refuses our user: grant it what docs/redis.md lists", cause: reply)
    case (_, .permanent):
      self.init(.unexpected, "Redis refuses a command of ours", cause: reply)
    }
  }

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
    RecordError(.unexpected, "\(what) answered a reply of kind \(kind) that we do not know")
  }
}
