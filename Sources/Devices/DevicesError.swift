import Redis

/// Why devices, profiles or followers could not be written.
package struct DevicesError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: String, Sendable {
    /// The caller's values are wrong; nothing was sent.
    case invalid
    /// No connection, no answer in time, or an answer that broke off: the call may be repeated.
    case unavailable
    /// Redis takes no writes now (loading, busy, out of memory, a replica).
    case refused
    /// User, password or permissions are wrong.
    case notPermitted
    /// A key holds another type than ours; nothing was written.
    case wrongType
    /// A key holds a value that none of us wrote.
    case badContent
    /// Others changed the same keys again and again, or began another rewrite of the same
    /// audience.
    case conflict
    /// Redis answered what no version known to us answers.
    case unexpected
    /// The client was closed.
    case closed
  }

  package let code: Code
  package let message: String
  /// What lies beneath, in words. Never a device token.
  package let cause: String?

  package var isTransient: Bool {
    code == .unavailable || code == .refused || code == .notPermitted || code == .conflict
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
      self.init(.unexpected, "Redis refuses a command of ours", cause: error.word)
    }
  }

  static func unexpected(_ what: String) -> DevicesError {
    DevicesError(.unexpected, "\(what) answered what we do not know")
  }
}
