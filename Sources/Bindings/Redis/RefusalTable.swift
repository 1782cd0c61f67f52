/// How errors begin that the same command gets again and again, other than those whose first word
/// says it. What is not here may pass: a proxy answers for a server that is away with words of its
/// own ("upstream failure" and "no upstream host" are Envoy's, "ERR Connection refused" and "ERR
/// Connection timed out" twemproxy's), and each version of each has others. Pure.
enum RefusalTable {
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
  static func kind(of message: String) -> RedisErrorReply.Kind? {
    // Longer ones are no server's.
    let text = String(decoding: message.utf8.prefix(1024), as: UTF8.self)
    let words = (text.hasPrefix("ERR ") ? text.dropFirst(4) : text[...]).lowercased()
    if let found = beginnings.first(where: { words.hasPrefix($0.text) }) { return found.kind }
    return text.hasPrefix("ERR ") && text.contains(scriptsOwn) ? .faulty : nil
  }
}
