/// The meaning of Redis' errors, and what is to be done about them. Pure.
enum ErrorReplyTable {
  /// Redis error prefixes: redis/src/server.c (`createSharedObjects`), cluster.c, acl.c.
  static func kind(of message: String) -> RedisErrorReply.Kind {
    if let kind = kinds[message.prefix { $0 != " " }] { return kind }
    // A script that calls a refused command puts its own words in front before Redis 7.
    let isOfScript = message.utf8.count <= 1024 && message.hasPrefix("ERR Error running script")
    if isOfScript {
      for (word, kind) in kinds
      where message.contains("-\(word) ") || message.contains(": \(word) ") { return kind }
    }
    // A command that a script's user may not call has no error code of its own.
    for words in scriptForbids
    where isOfScript ? message.contains(": \(words)") : message.hasPrefix("ERR \(words)") {
      return .noPermission
    }
    return kind(ofWords: message) ?? .other
  }

  private static let kinds: [Substring: RedisErrorReply.Kind] = [
    "LOADING": .loading, "BUSY": .busy, "MASTERDOWN": .masterDown, "TRYAGAIN": .tryAgain,
    "CLUSTERDOWN": .clusterDown, "OOM": .outOfMemory, "MISCONF": .misconfigured,
    "READONLY": .readOnly, "NOREPLICAS": .noReplicas, "NOAUTH": .noAuthentication,
    "WRONGPASS": .wrongPassword, "NOPERM": .noPermission, "WRONGTYPE": .wrongType,
    "NOSCRIPT": .noScript, "MOVED": .moved, "ASK": .ask, "CROSSSLOT": .crossSlot,
  ]

  /// Up to Redis 7.0, and from 7.2 on, as in Valkey.
  private static let scriptForbids = [
    "The user executing the script can't", "ACL failure in script: ",
  ]

  /// How errors begin that the same command gets again and again, other than those whose first word
  /// says it. An error that is not listed may pass: a proxy answers for a server that is away with
  /// words of its own ("upstream failure" and "no upstream host" are Envoy's, "ERR Connection
  /// refused" and "ERR Connection timed out" twemproxy's), and each version of each has others.
  ///
  /// Without `ERR`, in lower case. Redis writes `ERR` before them; Envoy leaves it out.
  static let beginnings: [(text: String, kind: RedisErrorReply.Kind)] = [
    ("unknown command", .unknownCommand), ("unsupported command", .unknownCommand),
    ("unknown subcommand", .unknownCommand),
    ("wrong number of arguments", .faulty), ("invalid request", .faulty),
    ("syntax error", .faulty), ("protocol error", .faulty),
    ("value is not an integer", .faulty), ("value is out of range", .faulty),
    ("hash value is not an integer", .faulty), ("increment or decrement would overflow", .faulty),
    ("invalid cursor", .faulty), ("invalid stream id", .faulty),
    ("number of keys can't", .faulty), ("db index is out of range", .faulty),
    ("error compiling script", .faulty), ("error running script", .faulty),
    ("user_script:", .faulty),
  ]

  /// A script's own failure from Redis 7 on: `… script: <digest>, on @user_script:12.`
  private static let scriptsOwn = "on @user_script:"

  /// nil: none of these.
  private static func kind(ofWords message: String) -> RedisErrorReply.Kind? {
    // Longer ones are no server's.
    let text = String(decoding: message.utf8.prefix(1024), as: UTF8.self)
    let words = (text.hasPrefix("ERR ") ? text.dropFirst(4) : text[...]).lowercased()
    if let found = beginnings.first(where: { words.hasPrefix($0.text) }) { return found.kind }
    return text.hasPrefix("ERR ") && text.contains(scriptsOwn) ? .faulty : nil
  }
}

extension RedisErrorReply.Kind {
  /// Redis does not do now what it was asked, though it was asked as it should be; a redirect is
  /// followed.
  var isRefusal: Bool {
    switch self {
    case .moved, .ask: false
    default: disposition == .wait || disposition == .forbidden
    }
  }

  package var disposition: RedisErrorReply.Disposition {
    switch self {
    case .loading, .busy, .masterDown, .tryAgain, .clusterDown: .wait
    // READONLY: a replica, or a master that was demoted; another connection may find the new one.
    case .readOnly: .wait
    case .outOfMemory, .misconfigured, .noReplicas: .wait
    case .noAuthentication, .wrongPassword, .noPermission: .forbidden
    // A cluster's node is named as one Redis: nothing is lost until that is mended.
    case .moved, .ask: .wait
    case .wrongType, .noScript, .crossSlot, .unknownCommand, .faulty: .permanent
    case .other: .unknown
    }
  }
}
