/// The `name:value` lines that INFO answers.
package struct RedisInformation {
  private var values: [Substring: String] = [:]

  /// Nil: the reply is no text, as where INFO is forbidden.
  package init?(_ reply: RedisReply) {
    guard let text = reply.text else { return nil }
    self.init(text)
  }

  package init(_ text: String) {
    for line in text.utf8.split(whereSeparator: { $0 == 0x0D || $0 == 0x0A }) {
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
      values[Substring(line[..<colon])] = String(Substring(line[line.index(after: colon)...]))
    }
  }

  package subscript(name: Substring) -> String? { values[name] }

  /// The name of the server, for people: Valkey names the Redis that it is like, too.
  package var product: String {
    if self["server_name"] == "valkey", let version = self["valkey_version"] {
      return "Valkey \(version)"
    }
    return "Redis \(self["redis_version"] ?? "of an unknown version")"
  }
}
