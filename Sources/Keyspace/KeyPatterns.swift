import Text

/// The patterns for SCAN, and the meaning of the keys that it finds.
extension Keyspace {
  /// Finds the devices of everybody that were set aside.
  package var quarantinedPattern: String { Self.escaped(dataPrefix) + "{u:*}" + Self.setAside }

  /// The user of the key; nil when it is none of those that `quarantined(user:)` makes.
  package func user(ofQuarantined key: String) -> String? {
    Self.middle(of: key, from: "\(dataPrefix){u:", to: "}" + Self.setAside)
  }

  /// Finds whatever names users without being a user's own: followers, tags, tokens, and
  /// what became of pushes.
  package var namingPattern: String { Self.escaped(dataPrefix) + "{[efgt]:*" }

  /// A key that names users.
  package enum NamingKey: Sendable, Equatable {
    /// The hash of a streamer's followers.
    case followers(streamer: String)
    /// One of the streamer's shards, of whatever generation.
    case followerShard(streamer: String)
    /// The hash of a tag's users.
    case tag(String)
    case tagShard(tag: String)
    case tokenOwner(token: String)
    case tokenMoves(token: String)
    /// The noted outcomes of an event's pushes.
    case trace
  }

  /// Nil for what none of us wrote.
  package func namingKey(_ key: String) -> NamingKey? {
    if let list = userList(key, "f") {
      return list.isShard ? .followerShard(streamer: list.name) : .followers(streamer: list.name)
    }
    if let list = userList(key, "g") {
      return list.isShard ? .tagShard(tag: list.name) : .tag(list.name)
    }
    if let token = Self.middle(of: key, from: "\(dataPrefix){t:", to: "}") {
      return Self.isToken(token) ? .tokenOwner(token: token) : nil
    }
    if let token = Self.middle(of: key, from: "\(dataPrefix){t:", to: "}:moves") {
      return Self.isToken(token) ? .tokenMoves(token: token) : nil
    }
    if key.utf8.starts(with: "\(dataPrefix){e:".utf8), let part = key.split(separator: ":").last,
      key.utf8.reversed().starts(with: "}:trace:\(part)".utf8.reversed()), Int(part) != nil
    {
      return .trace
    }
    return nil
  }

  /// The name of the list of users that a key belongs to.
  private func userList(_ key: String, _ letter: String) -> (name: String, isShard: Bool)? {
    guard let name = Self.middle(of: key, from: "\(dataPrefix){\(letter):", to: "}") else {
      return nil
    }
    if Self.isStreamerIdentifier(name) { return (name, false) }
    let parts = name.split(separator: ":", omittingEmptySubsequences: false)
    let owner = parts.dropLast(2).joined(separator: ":")
    guard parts.suffix(2).allSatisfy({ Int($0) != nil }), Self.isStreamerIdentifier(owner) else {
      return nil
    }
    return (owner, true)
  }

  /// Of any platform.
  private static func isToken(_ text: String) -> Bool { text.utf8.allSatisfy(\.isSafeInKey) }

  /// The text between two ends; nil when it is empty, or the key ends otherwise.
  private static func middle(of key: String, from start: String, to end: String) -> String? {
    guard key.utf8.starts(with: start.utf8), key.utf8.count > start.utf8.count + end.utf8.count,
      key.utf8.reversed().starts(with: end.utf8.reversed())
    else { return nil }
    let middle = key.utf8.dropFirst(start.utf8.count).dropLast(end.utf8.count)
    return String(Substring(middle))
  }

  private static func escaped(_ prefix: String) -> String {
    var pattern = ""
    for character in prefix {
      if "*?[]\\^-".contains(character) { pattern.append("\\") }
      pattern.append(character)
    }
    return pattern
  }
}
