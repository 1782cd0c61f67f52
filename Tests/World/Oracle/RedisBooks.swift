import MemoryRedis

/// What Redis holds, read past all that a client may meet.
extension World {
  func hash(_ key: String) -> [String: String] {
    Self.pairs(ask("HGETALL", key))
  }

  /// Names and values by turns.
  private static func pairs(_ reply: StoreReply) -> [String: String] {
    guard case .array(let parts) = reply else { return [:] }
    var fields: [String: String] = [:]
    for index in stride(from: 0, to: parts.count - 1, by: 2) {
      guard case .bulk(let name) = parts[index], case .bulk(let value) = parts[index + 1] else {
        continue
      }
      fields[name.text] = value.text
    }
    return fields
  }

  func text(_ key: String) -> String? {
    guard case .bulk(let text) = ask("GET", key) else { return nil }
    return text.text
  }

  func members(_ key: String) -> Set<String> {
    guard case .array(let members) = ask("SMEMBERS", key) else { return [] }
    return Set(
      members.compactMap { member in
        if case .bulk(let text) = member { text.text } else { nil }
      })
  }

  func holds(_ key: String, _ member: String) -> Bool {
    holds(ByteString(key), ByteString(member))
  }

  func holds(_ key: ByteString, _ member: ByteString) -> Bool {
    redis.server.store.isMember(member, of: key, now: wallClock() * 1_000)
  }

  func field(_ key: String, _ field: String) -> String? {
    redis.server.store.field(ByteString(field), of: ByteString(key), now: wallClock() * 1_000)?.text
  }

  /// The entries of a stream, the oldest first.
  func entries(_ key: String) -> [[String: String]] {
    guard case .array(let entries) = ask("XRANGE", key, "-", "+") else { return [] }
    return entries.map { entry in
      guard case .array(let parts) = entry, parts.count == 2 else { return [:] }
      return Self.pairs(parts[1])
    }
  }

  /// Every key but those of tokens, and of users' devices and profiles, of which there are most.
  func keys() -> [String] {
    redis.server.store.names { !Self.isOfMany($0) }.map(\.text)
  }

  private static let token: ByteString = "ffd:{t:"
  private static let partsOfUsers: [ByteString] = ["}:bindings", "}:bound", "}:profile"]

  private static func isOfMany(_ key: ByteString) -> Bool {
    key.begins(with: token) || partsOfUsers.contains { key.ends(with: $0) }
  }
}
