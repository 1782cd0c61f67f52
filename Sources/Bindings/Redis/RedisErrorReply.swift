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

/// The line of an error about a key of another type, with the name of the key, which Redis leaves
/// out.
enum WrongTypeText {
  /// Redis' own words, alone or within the error of a script.
  static let ofRedis = "WRONGTYPE Operation against a key"
  private static let word = "WRONGTYPE "

  /// The line for a command. Nil: it has no key.
  static func naming(_ command: [String]) -> String? {
    let keys = CommandKeys.keys(of: command).map { shown($0) }
    guard let name = command.first, !keys.isEmpty else { return nil }
    let subject = keys.count == 1 ? keys[0] : "one of \(keys.joined(separator: ", "))"
    let isScript = name.hasPrefix("EVAL") || name.hasPrefix("FCALL")
    return "\(word)\(subject) holds another type than \(isScript ? "a script" : name) takes"
  }

  /// The line for a key whose type is known.
  static func naming(_ key: String, _ type: String, not wanted: String) -> String {
    "\(word)\(shown(key)) is a \(type), not a \(wanted)"
  }

  /// The line without its first word, where it names a key.
  static func statement(in line: String) -> Substring? {
    line.hasPrefix(word) && !line.hasPrefix(ofRedis) ? line.dropFirst(word.count) : nil
  }

  /// The key of a token holds the token, which must not get into logs (`types.lua`).
  private static func shown(_ key: String) -> String {
    key.contains("{t:") ? "the key of a token" : key
  }
}
