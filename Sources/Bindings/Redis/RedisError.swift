/// Why Redis did not do what it was asked: no replies came, or one of them is an error or of a kind
/// that no version known to us gives. The one classification of it; rooms add only what is theirs.
package struct RedisError: TransientError, Sendable, Equatable, CustomStringConvertible {
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
    /// The bytes are no RESP, were not asked for, or nest too deep.
    case protocolError
    /// This pipeline's replies are larger than it allows; the connection is given up over it.
    case replyTooLarge
    /// A command without arguments or over 512 MB, or more pipelines than `maximumPipelines`.
    case invalidUse
    /// `close` was called.
    case closed
    /// Answered: not now (loading, busy, without its master, out of memory, a replica).
    case notServed
    /// Answered, and done: fewer replicas have it than were asked for.
    case notCopied
    /// Answered: the user may not run the command or touch the key.
    case notPermitted
    /// Answered: the key holds another type. Nothing was written.
    case wrongType
    /// Answered with an error that the same command would get again.
    case unsupported
    /// Answered with an error that we do not know: perhaps a proxy's whose server is away.
    case unknownError
    /// Answered with what no version known to us answers: the replies may be another's.
    case unexpected

    package var isTransient: Bool {
      switch self {
      case .unavailable, .loading, .authentication, .refused, .connectionLost, .timeout,
        .protocolError, .notServed, .notCopied, .notPermitted, .unknownError,
        .unexpected:
        true
      case .replyTooLarge, .invalidUse, .closed, .wrongType, .unsupported: false
      }
    }

    /// Whether somebody who asks from outside may get an answer later, or from another process.
    package var mayBeAskedAgain: Bool { isTransient || self == .closed }

    /// Whether that it passes is a guess.
    package var isUncertain: Bool { self == .unknownError || self == .unexpected }

    /// Whether user, password or permissions are to be mended.
    package var isForOperator: Bool { self == .authentication || self == .notPermitted }
  }

  package let code: Code
  package let message: String
  /// The underlying error, in words.
  package let cause: String?

  init(_ code: Code, _ message: String, cause: String? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  package var description: String { cause.map { "\(message): \($0)" } ?? message }

  package var isTransient: Bool { code.isTransient }
  package var isUncertain: Bool { code.isUncertain }
  package var isOutOfStep: Bool { code == .unexpected }

  /// Whether Redis may have run the commands all the same.
  var isOutcomeUnknown: Bool {
    switch code {
    case .connectionLost, .timeout, .protocolError, .replyTooLarge, .notCopied, .unknownError,
      .unexpected:
      true
    case .unavailable, .loading, .authentication, .refused, .invalidUse, .closed, .notServed,
      .notPermitted, .wrongType, .unsupported:
      false
    }
  }
}

extension RedisError {
  /// A reply that is an error.
  ///
  /// - Parameters:
  ///   - read: what the command was to do with which key, where that is known.
  ///   - quotes: whether Redis' whole line may be passed on where it may quote arguments.
  package init(_ reply: RedisErrorReply, to read: RedisRead? = nil, quotes: Bool = true) {
    switch (reply.kind, reply.disposition) {
    case (.wrongType, _):
      guard let read else {
        guard let statement = WrongTypeText.statement(in: reply.message) else {
          self.init(
            .wrongType, "a Redis key of ours holds another type: RENAME or DEL it",
            cause: reply.message)
          return
        }
        self.init(.wrongType, "\(statement): RENAME or DEL it")
        return
      }
      self.init(
        .wrongType,
        "\(read.key) is not a \(read.wanted): RENAME or DEL it, then import the followers again")
    case (_, .wait):
      let what = read?.key ?? "us"
      self.init(.notServed, "Redis does not serve \(what) now", cause: reply.message)
    case (_, .forbidden):
      let what = read.map { "may not \($0)" } ?? "lacks a permission"
      self.init(
        .notPermitted, "our Redis user \(what): grant it what docs/redis.md lists",
        cause: reply.message)
    case (.unknownCommand, _):
      let name = reply.unknownCommand ?? "a command of ours"
      self.init(
        .unsupported, "Redis does not have \(name): is it renamed or disabled?",
        cause: quotes ? reply.message : reply.word)
    case (_, .permanent):
      let what = read.map { "to \($0)" } ?? "a command of ours"
      self.init(
        .unsupported, "Redis refuses \(what)", cause: quotes ? reply.message : reply.word)
    case (_, .unknown):
      let what = read.map { "to \($0)" } ?? "a command of ours"
      self.init(
        .unknownError, "Redis, or a proxy before it, answers \(what) with an error we do not know",
        cause: quotes ? reply.excerpt : reply.word)
    }
  }

  /// A key whose type was asked for.
  package static func wrongType(of key: String, _ type: String, not wanted: String) -> RedisError {
    RedisError(RedisErrorReply(WrongTypeText.naming(key, type, not: wanted)))
  }

  /// A reply of another shape than every Redis gives: it must not pass for an empty one.
  package static func unexpected(_ reply: RedisReply, to read: RedisRead) -> RedisError {
    let shape =
      reply.kind == .array ? "an array of \(reply.count)" : "a reply of kind \(reply.kind)"
    return RedisError(.unexpected, "Redis answered \(read) with \(shape)")
  }

  package static func unexpected(_ kind: RedisReply.Kind, from what: String) -> RedisError {
    RedisError(.unexpected, "\(what) answered a reply of kind \(kind) that we do not know")
  }
}

/// The read that a command was for, in words of messages.
package struct RedisRead: Sendable, CustomStringConvertible {
  package let command: String
  package let key: String
  /// The type of the key by contract, such as `set`.
  package let wanted: String

  package init(_ command: String, _ key: String, wanted: String = "key of ours") {
    self.command = command
    self.key = key
    self.wanted = wanted
  }

  package var description: String { "\(command) \(key)" }
}
