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
