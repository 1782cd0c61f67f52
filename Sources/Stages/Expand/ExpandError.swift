import Redis

/// Why followers or recipients could not be read.
package struct ExpandError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: String, Sendable {
    /// No connection, no answer in time, or an answer that broke off: wait and call again.
    case unavailable
    /// Asked, and no answer in time: wait and call again, less is asked for then.
    case slow
    /// Redis does not serve reads now (loading, busy, without its master): wait and call again.
    case refused
    /// User, password or permissions are wrong: tell the operator, wait and call again.
    case notPermitted
    /// A key holds another type than the contract says.
    case wrongType
    /// A key holds a value that the contract rules out.
    case badContent
    /// The event expired before all of its followers could be read: what was read counts, the rest
    /// is given up.
    case expired
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

  /// Whether the same call may succeed later without anybody mending the data. All but `expired`
  /// and `closed` that is not transient belongs to the dead letters: it is no empty set.
  package var isTransient: Bool {
    switch code {
    case .unavailable, .slow, .refused, .notPermitted: true
    case .wrongType, .badContent, .expired, .invalid, .unexpected, .closed: false
    }
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
    case .timeout:
      self.init(.slow, "Redis does not answer in time", cause: error.description)
    case .replyTooLarge:
      self.init(
        .badContent, "Redis holds more there than can be read", cause: error.description)
    case .unavailable, .loading, .refused, .connectionLost, .protocolError:
      self.init(.unavailable, "Redis does not answer", cause: error.description)
    }
  }

  /// `key` is what `command` was to read, `wanted` what stands there by contract.
  init(reply error: RedisErrorReply, to command: String, key: String, wanted: String) {
    switch (error.kind, error.disposition) {
    case (.wrongType, _):
      self.init(
        .wrongType,
        "\(key) is not a \(wanted): RENAME or DEL it, then import the followers anew")
    case (_, .wait), (_, .alert):
      self.init(.refused, "Redis does not serve \(key) now", cause: error.message)
    case (_, .fatal):
      self.init(
        .notPermitted,
        "our Redis user may not \(command) \(key): grant it what docs/redis.md lists",
        cause: error.message)
    case (_, .permanent):
      self.init(.unexpected, "Redis refuses to \(command) \(key)", cause: error.message)
    }
  }

  /// A reply of another shape than every Redis gives: it must not pass for an empty one.
  static func unexpected(_ reply: RedisReply, to command: String, key: String) -> ExpandError {
    let shape =
      reply.kind == .array ? "an array of \(reply.count)" : "a reply of kind \(reply.kind)"
    return ExpandError(.unexpected, "Redis answered \(command) \(key) with \(shape)")
  }
}

extension RedisReply {
  /// This reply when it is an array; everything else is an error.
  func array(from command: String, key: String, wanted: String) throws(ExpandError) -> RedisReply {
    if let error { throw ExpandError(reply: error, to: command, key: key, wanted: wanted) }
    guard kind == .array else { throw ExpandError.unexpected(self, to: command, key: key) }
    return self
  }
}

extension RedisClient {
  func replies(
    to pipeline: RedisPipeline, maximumBytes: Int
  ) async throws(ExpandError) -> RedisReplies {
    do {
      return try await execute(pipeline, maximumReplyBytes: maximumBytes)
    } catch {
      throw ExpandError(error)
    }
  }
}
