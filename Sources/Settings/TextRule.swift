import Text

/// Which texts a key takes. Every rule refuses control characters: a value may reach a header, a
/// Redis key or a log line.
package struct TextRule: Sendable {
  /// For people: `a host name or an address`.
  package let summary: String
  package let maximumBytes: Int
  let accepts: @Sendable (String) -> Bool

  init(
    _ summary: String, maximumBytes: Int,
    accepts: @escaping @Sendable (String) -> Bool = { _ in true }
  ) {
    self.summary = summary
    self.maximumBytes = maximumBytes
    self.accepts = accepts
  }

  func complaint(about text: String) -> SettingComplaint? {
    if text.isEmpty { return SettingComplaint("must be \(summary), is empty") }
    if text.unicodeScalars.contains(where: { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) })
    {
      return SettingComplaint(
        "holds a control character, such as a line break: must be \(summary)",
        hint: "write the value on one line; a block (`|`, `>`) ends in a line break")
    }
    if text.utf8.count > maximumBytes {
      return SettingComplaint("is \(text.utf8.count) bytes long, at most \(maximumBytes) are taken")
    }
    return accepts(text) ? nil : SettingComplaint("must be \(summary), is \(Shown.value(text))")
  }

  static let any = TextRule("text", maximumBytes: 1_024)

  /// Of a program that is run as it is written, without a shell.
  static let commandWord = TextRule("a program or one of its arguments", maximumBytes: 4_095)

  static let host = TextRule("a host name or an address", maximumBytes: 255) { isHost($0) }

  /// `host:port`, an IPv6 address in brackets.
  static let hostAndPort = TextRule("host:port", maximumBytes: 262) { text in
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (1...65_535).contains(port)
    else { return false }
    var host = text[..<colon]
    if host.hasPrefix("[") && host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      return false
    }
    return isHost(String(host))
  }

  static let share = TextRule("a share from 0% to 100%, like 1%", maximumBytes: 16) {
    Share.parse($0) != nil
  }

  /// Whether it can be connected to is found out when it is read.
  static let webAddress = TextRule(
    "an address that begins with http:// or https://", maximumBytes: 1_024
  ) {
    let rest = $0.hasPrefix("https://") ? $0.dropFirst(8) : $0.dropFirst(7)
    return ($0.hasPrefix("http://") || $0.hasPrefix("https://")) && !rest.isEmpty
      && $0.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
  }

  /// Kafka's rule for the names of topics.
  static let topic = TextRule("letters, digits, `.`, `_` and `-`", maximumBytes: 249) {
    $0 != "." && $0 != ".." && $0.utf8.allSatisfy { isWord($0) || $0 == 0x2E || $0 == 0x2D }
  }

  /// Begins every Redis key; braces would break the hash tags of Redis Cluster.
  static let keyPrefix = TextRule("text without spaces and braces", maximumBytes: 64) {
    !$0.utf8.contains { $0 == 0x20 || $0 == 0x7B || $0 == 0x7D }
  }

  /// Becomes part of a Redis key.
  static let identifier = TextRule("text without spaces and braces", maximumBytes: 128) {
    keyPrefix.accepts($0)
  }

  static let streamerPattern = TextRule(
    "a Redis key with `{streamer}` in it once", maximumBytes: 256
  ) {
    let parts = $0.split(separator: "{streamer}", omittingEmptySubsequences: false)
    return parts.count == 2 && parts.allSatisfy { !$0.contains("{") && !$0.contains("}") }
  }

  static let app = TextRule("a bundle id: letters, digits, '.' and '-'", maximumBytes: 255) {
    $0.utf8.allSatisfy { $0.isASCIIWord || $0 == 0x2E || $0 == 0x2D }
  }

  /// The ids of keys and of teams in an Apple developer account.
  static let appleIdentifier = TextRule("10 capital letters and digits", maximumBytes: 64) {
    $0.utf8.count == 10
      && $0.utf8.allSatisfy { $0.isASCIIDigit || $0.isASCIIUpper }
  }

  /// As in `Europe/Berlin` or `UTC+03:00`; whether it exists is found out when it is read.
  static let timeZone = TextRule("the name of a time zone", maximumBytes: 64) {
    $0.utf8.allSatisfy { isWord($0) || [0x2B, 0x2D, 0x2F, 0x3A].contains($0) }
  }

  private static func isHost(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.first != 0x2D
      && text.utf8.allSatisfy { isWord($0) || $0 == 0x2D || $0 == 0x2E || $0 == 0x3A }
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    byte.isASCIIWord || byte == 0x5F
  }
}
