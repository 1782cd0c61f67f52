import Redis

/// Why devices, profiles or followers could not be written.
package struct DevicesError: TransientError, Sendable, Equatable, CustomStringConvertible {
  package enum Code: Sendable, Equatable {
    /// Redis did not do what it was asked.
    case redis(RedisError.Code)
    /// The caller's values are wrong; nothing was sent.
    case invalid
    /// A key holds a value that none of us wrote.
    case badContent
    /// Others changed the same keys again and again, or began another rewrite of the same
    /// audience.
    case conflict
  }

  package let code: Code
  package let message: String
  /// What lies beneath, in words. Never a device token.
  package let cause: String?

  package var isTransient: Bool {
    switch code {
    case .redis(let code): code.isTransient
    case .conflict: true
    case .invalid, .badContent: false
    }
  }

  package var description: String { cause.map { "\(message): \($0)" } ?? message }

  init(_ code: Code, _ message: String, cause: String? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  init(_ error: RedisError) { self.init(.redis(error.code), error.message, cause: error.cause) }

  init(reply: String) { self.init(RedisError(RedisErrorReply(reply), quotes: false)) }

  static func unexpected(_ what: String) -> DevicesError {
    DevicesError(.redis(.unexpected), "\(what) answered what we do not know")
  }
}
