/// The first commands on a new connection, and what their replies mean.
struct RedisHandshake: Sendable {
  enum Step: Sendable, Equatable {
    case authenticate, selectDatabase, setName, ping, readOnly, replication, role
  }

  let commands: [(step: Step, arguments: [String])]

  init(_ options: RedisOptions, _ purpose: ConnectionPurpose = .onlyServer) {
    var commands: [(step: Step, arguments: [String])] = []
    if let password = options.password {
      let user = options.username.map { [$0] } ?? []
      commands.append((.authenticate, ["AUTH"] + user + [password]))
    }
    if options.database != 0 {
      commands.append((.selectDatabase, ["SELECT", String(options.database)]))
    }
    if let name = options.clientName {
      commands.append((.setName, ["CLIENT", "SETNAME", name]))
    }
    // The only one that every server gets: says whether it is loading or wants a password.
    commands.append((.ping, ["PING"]))
    if case .replica(let isOfCluster, _) = purpose {
      // Without it, a cluster's replica sends every read to its master.
      if isOfCluster { commands.append((.readOnly, ["READONLY"])) }
      commands.append((.replication, ["INFO", "replication"]))
    }
    commands.append((.role, ["ROLE"]))
    self.commands = commands
  }

  func append(to pipeline: RedisPipeline) {
    for command in commands { pipeline.append(command.arguments) }
  }

  /// As below. `replies`: the first of them are to what `append` has appended.
  func verdict(on replies: RedisReplies) -> RedisError? {
    Self.verdict(commands.enumerated().map { ($1.step, replies[$0].error) })
  }

  /// The first answer that is a refusal, as the error that waiting pipelines would get; nil
  /// when the connection is ready. The server's own words are left out: of an AUTH that it does not
  /// know, Redis repeats the arguments.
  static func verdict(_ answers: [(step: Step, error: RedisErrorReply?)]) -> RedisError? {
    for (step, error) in answers {
      if let error, let failure = failure(at: step, error) { return failure }
    }
    return nil
  }

  /// Of a server that closes the connection during the handshake: what it said before. Redis'
  /// own words are shown where they quote nothing.
  static func refusal(in replies: RedisReplies) -> RedisError? {
    guard let error = replies.firstError else { return nil }
    if error.message.hasPrefix("ERR max number of clients") {
      return RedisError(
        .unavailable, "Redis takes no more connections (maxclients)", cause: error.excerpt)
    }
    if error.word == "DENIED" {
      return RedisError(
        .refused, "Redis takes no connections from other hosts", cause: error.excerpt)
    }
    return RedisError(.unavailable, "Redis closed the connection", cause: error.word)
  }

  private static func failure(at step: Step, _ error: RedisErrorReply) -> RedisError? {
    switch (error.kind, step) {
    case (.loading, _): RedisError(.loading, "Redis is loading its data set")
    case (.busy, _): RedisError(.loading, "Redis is busy with a script (SCRIPT KILL would end it)")
    case (.masterDown, _): RedisError(.loading, "this Redis is a replica without its master")
    case (.clusterDown, _), (.tryAgain, _):
      RedisError(.loading, "the Redis cluster is not ready: \(error.word)")
    case (.noAuthentication, _):
      RedisError(.authentication, "Redis wants a password: give it one in the configuration")
    case (_, .authenticate):
      RedisError(
        .authentication,
        error.kind == .wrongPassword
          ? "Redis refuses the user name or password (WRONGPASS)"
          : "Redis refuses AUTH (\(error.word)): is a password set for this user there?")
    case (_, .selectDatabase):
      error.kind == .noPermission
        ? RedisError(.authentication, "the Redis user may not SELECT (NOPERM)")
        : RedisError(.refused, "Redis refuses the database number (\(error.word))")
    case (_, .readOnly):
      RedisError(.refused, "the Redis replica refuses READONLY (\(error.word)): grant it")
    // A user that may not PING, name itself or ask for the role may still do its work. The caller
    // that asks a replica of its replication looks at the answer.
    case (_, .setName), (_, .ping), (_, .replication), (_, .role): nil
    }
  }
}

/// The kind of server that a connection needs.
enum ConnectionPurpose {
  /// A master, for commands.
  case onlyServer
  /// A master too, whose MOVED somebody follows.
  case clusterNode
  /// Any server: it is only asked where the masters are.
  case inquiry
  /// Somebody's replica, for reads that may lag. `obstacle`: why it is of no use, from what it
  /// says of itself.
  case replica(isOfCluster: Bool, obstacle: (ReplicationReport?) -> RedisError?)

  var isOfCluster: Bool {
    switch self {
    case .clusterNode, .replica(isOfCluster: true, _): true
    case .onlyServer, .inquiry, .replica: false
    }
  }
}
