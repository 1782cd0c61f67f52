import Redis

/// Why followers or recipients could not be read.
package struct ExpandError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: String, Sendable {
    /// No connection, no answer in time, or an answer that broke off: wait and call again.
    case unavailable
    /// Redis does not serve reads now (loading, busy, without its master): wait and call again.
    case refused
    /// User, password or permissions are wrong: tell the operator, wait and call again.
    case notPermitted
    /// A key holds another type than the contract says.
    case wrongType
    /// A key holds a value that the contract rules out.
    case badContent
    /// The streamer's id cannot stand in a key.
    case invalid
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
    code == .unavailable || code == .refused || code == .notPermitted
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

  /// `key` is what was read, `wanted` what stands there by contract.
  init(reply error: RedisErrorReply, key: String, wanted: String) {
    switch (error.kind, error.disposition) {
    case (.wrongType, _):
      self.init(
        .wrongType,
        "\(key) is not a \(wanted): RENAME or DEL it, then import the followers anew")
    case (_, .wait), (_, .alert):
      self.init(.refused, "Redis does not serve \(key) now", cause: error.message)
    case (_, .fatal):
      self.init(
        .notPermitted, "Redis refuses our user \(key): grant it what README.md lists",
        cause: error.message)
    case (_, .permanent):
      self.init(.unexpected, "Redis refuses to read \(key)", cause: error.message)
    }
  }
}

extension RedisClient {
  func replies(to pipeline: RedisPipeline) async throws(ExpandError) -> RedisReplies {
    do {
      return try await execute(pipeline)
    } catch {
      throw ExpandError(error)
    }
  }
}
