/// Why something could not be read from Redis or written to it: what Redis says, or what the room
/// itself finds wrong.
package struct StoreError<Code: StoreErrorCode>: TransientError, Sendable, Equatable,
  CustomStringConvertible
{
  package let code: Code
  package let message: String
  /// The underlying error, in words. Never a device token.
  package let cause: String?

  package init(_ code: Code, _ message: String, cause: String? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  package init(_ error: RedisError) {
    self.init(.redis(error.code), error.message, cause: error.cause)
  }

  package var isTransient: Bool { code.ofRedis?.isTransient ?? code.isTransientItself }
  package var isUncertain: Bool { code.ofRedis?.isUncertain ?? false }
  package var isOutOfStep: Bool { code.ofRedis == .unexpected }

  package var description: String { cause.map { "\(message): \($0)" } ?? message }
}

/// The codes of a room that keeps what it has in Redis.
package protocol StoreErrorCode: Sendable, Equatable {
  /// Redis did not do what it was asked.
  static func redis(_ code: RedisError.Code) -> Self
  /// Nil when it is another than `redis`.
  var ofRedis: RedisError.Code? { get }
  /// Whether waiting may mend one that is not Redis' own.
  var isTransientItself: Bool { get }
}

/// An error that says whether waiting may mend it.
package protocol TransientError: Error {
  /// Whether the same call may succeed later without anybody mending the data or the call. An
  /// operator may have to mend something else: permissions, memory, clocks.
  var isTransient: Bool { get }

  /// Whether that is a guess: to be waited for while the work is of use, not for ever.
  var isUncertain: Bool { get }

  /// Whether the connection that it came on may give answers to other questions: not to be used
  /// again.
  var isOutOfStep: Bool { get }
}

extension TransientError {
  package var isUncertain: Bool { false }
  package var isOutOfStep: Bool { false }
}
