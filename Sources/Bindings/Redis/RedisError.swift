/// Why a pipeline has no replies. What Redis itself answers to a command is a reply, not an error.
package struct RedisError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: String, Sendable, CaseIterable {
    /// Nothing was sent: no connection came about in time.
    case unavailable
    /// Nothing was sent: Redis is reading its data set, runs a long script, or is a replica.
    case loading
    /// Nothing was sent: Redis knows no such user or password, or forbids it the database.
    case authentication
    /// Nothing was sent: the database number is refused, or another answer to the handshake.
    case refused
    /// Sent, and the connection broke before every reply was there: Redis may have done it or not.
    case connectionLost
    /// Sent, and not answered in time: as for `connectionLost`.
    case timeout
    /// What came is no RESP, was not asked for, or nests too deep.
    case protocolError
    /// This pipeline's replies are larger than it allows; the connection is given up over it.
    case replyTooLarge
    /// A command without arguments or over 512 MB, or more pipelines than `maximumPipelines`.
    case invalidUse
    /// `close` was called.
    case closed
  }

  package let code: Code
  package let message: String
  /// What lies beneath, in words.
  package let cause: String?

  init(_ code: Code, _ message: String, cause: String? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  package var description: String { cause.map { "\(message): \($0)" } ?? message }

  /// Whether Redis may have run the commands all the same.
  package var isOutcomeUnknown: Bool {
    switch code {
    case .connectionLost, .timeout, .protocolError, .replyTooLarge: true
    case .unavailable, .loading, .authentication, .refused, .invalidUse, .closed: false
    }
  }
}
