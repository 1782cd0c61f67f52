/// A server's reply to ROLE. Only a master serves us, but for reads that may lag: a replica answers
/// from what it had, so that a mark that is set already looks as if it were not, and it refuses
/// every write.
package enum RedisRole: Equatable {
  case master
  /// `master`: where it says its master is.
  case replica(master: String)
  /// The user may not ask, or the server (a proxy) knows no ROLE.
  case untold
  case other(String)

  package init(_ reply: RedisReply) {
    if let error = reply.error {
      let isUntold = error.kind == .noPermission || error.kind == .unknownCommand
      self = isUntold ? .untold : .other(error.word)
      return
    }
    switch reply[0].text {
    case "master": self = .master
    case "slave":
      self = .replica(master: "\(reply[1].text ?? "?"):\(reply[2].decimal ?? 0)")
    case let name: self = .other(name ?? "nothing known")
    }
  }

  /// Why a connection to such a server is of no use.
  var failure: RedisError? {
    switch self {
    case .master, .untold: nil
    case .replica(let master):
      RedisError(
        .loading, "this Redis is a replica (its master is \(master)): only a master is used")
    case .other(let name):
      RedisError(.refused, "this is no Redis master: ROLE answers \(name)")
    }
  }

  /// INFO's `run_id`: another one is another process, with another data set perhaps.
  package static func runIdentifier(_ information: RedisReply) -> String? {
    RedisInformation(information)?["run_id"]
  }
}

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
