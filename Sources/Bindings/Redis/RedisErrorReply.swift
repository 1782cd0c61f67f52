import Text

/// An error that Redis answered to one command: its first word says what to do.
package struct RedisErrorReply: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Kind: Sendable, Equatable, CaseIterable {
    case loading, busy, masterDown, tryAgain, clusterDown
    case outOfMemory, misconfigured, readOnly, noReplicas
    case noAuthentication, wrongPassword, noPermission
    case wrongType, noScript, moved, ask, crossSlot
    /// A command that this server, or a proxy, does not have.
    case unknownCommand
    /// It was not asked as it should be, or a script of ours fails.
    case faulty
    /// None that we know: perhaps a proxy's whose server is away.
    case other
  }

  /// The caller's next step.
  package enum Disposition: Sendable, Equatable, CaseIterable {
    /// Passes by itself, or when the operator has given Redis memory, a disk or its replicas: keep
    /// what is to be written, try again after a while.
    case wait
    /// Waits for the operator to mend user, password or permissions.
    case forbidden
    /// Gives up: the command is wrong for this key or server: trying again gives the same.
    case permanent
    /// Nobody knows: wait, but not for ever.
    case unknown
  }

  package let kind: Kind
  /// The whole line. It may quote arguments of the command: not for logs where those are secret.
  package let message: String

  /// The first word, in upper case by convention; safe to log.
  package let word: String

  package init(_ message: String) {
    self.message = message
    let first = message.utf8.prefix { $0 != 0x20 }.prefix(32)
    let isWord = first.allSatisfy { $0.isASCIIUpper || $0.isASCIIDigit }
    word = isWord && !first.isEmpty ? String(decoding: first, as: UTF8.self) : "ERR"
    kind = ErrorReplyTable.kind(of: message)
  }

  /// The command that Redis does not have, as it quotes it before the arguments.
  var unknownCommand: String? {
    guard kind == .unknownCommand,
      let quoted = message.utf8.split(
        separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false
      ).dropFirst().first, !quoted.isEmpty, quoted.count <= 32,
      quoted.allSatisfy({ $0.isASCIIUpper || $0.isASCIILower })
    else { return nil }
    return String(Substring(quoted))
  }

  /// For logs: a line may have 64 KiB.
  var excerpt: String {
    message.utf8.count <= 200
      ? message : String(decoding: message.utf8.prefix(200), as: UTF8.self) + "…"
  }

  package var disposition: Disposition { kind.disposition }

  package var description: String { message }
}
