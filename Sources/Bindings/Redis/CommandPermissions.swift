/// Whether our user may do with Redis all that a process does. One that lacks a command finds that
/// out when it first needs it, and work waits until then: when a worker or an API starts, each is
/// tried on a key of nobody's that is gone within seconds, and so does `fanfare check`.
package enum CommandPermissions {
  /// The commands that any master refuses our user, each once. Throws while one of them does not
  /// answer.
  package static func missing(
    _ client: RedisClient, _ commands: [[String]], _ options: RedisOptions
  ) async throws(RedisError) -> [String] {
    let tried = commands + ofClusters(options)
    var names: [String] = []
    for (_, replies) in try await client.executeOnMasters(pipeline(tried)) {
      for name in refused(tried, replies) where !names.contains(name) { names.append(name) }
    }
    return names
  }

  /// The commands that this master refuses our user, in the order of `commands`: each node of a
  /// cluster has users of its own. A node that does not serve the key says so after it has checked
  /// our permissions.
  package static func missing(
    _ client: RedisClient, at master: RedisMaster, _ commands: [[String]], _ options: RedisOptions
  ) async throws(RedisError) -> [String] {
    let tried = commands + ofClusters(options)
    return refused(tried, try await client.execute(pipeline(tried), at: master))
  }

  /// The same by ACL DRYRUN, which does none of the commands. Nil: Redis cannot tell (it is older
  /// than 7), or does not tell our user.
  package static func missingByDryRun(
    _ client: RedisClient, at master: RedisMaster, _ commands: [[String]], _ options: RedisOptions
  ) async throws(RedisError) -> [String]? {
    let tried = commands + ofClusters(options)
    let user = options.username ?? "default"
    let replies = try await client.execute(
      pipeline(tried.map { ["ACL", "DRYRUN", user] + $0 }), at: master)
    var names: [String] = []
    for (index, command) in tried.enumerated() {
      var name = command[0]
      if let error = replies[index].errorText {
        guard error.contains("Command"), error.contains("not found") else { return nil }
        name += renamed
      } else if replies[index].text == "OK" {
        continue
      }
      if !names.contains(name) { names.append(name) }
    }
    return names
  }

  private static let renamed = " (renamed or disabled in Redis)"

  /// The names of those commands that our user may not use, or that the server does not have, by
  /// what was answered.
  private static func refused(_ commands: [[String]], _ replies: RedisReplies) -> [String] {
    var names: [String] = []
    for (index, command) in commands.enumerated() {
      let name: String
      switch replies[index].error?.kind {
      case .noPermission: name = command[0]
      case .unknownCommand: name = command[0] + renamed
      default: continue
      }
      if !names.contains(name) { names.append(name) }
    }
    return names
  }

  /// The commands of every process that runs scripts.
  package static func ofScripts(_ key: String) -> [[String]] {
    [
      ["EVAL", "return 1", "1", key], ["EVALSHA", unknownScript, "1", key],
      ["SCRIPT", "LOAD", "return 1"],
    ]
  }

  private static func ofClusters(_ options: RedisOptions) -> [[String]] {
    options.clusterNodes.isEmpty ? [] : [["ASKING"], ["TIME"]]
  }

  private static func pipeline(_ commands: [[String]]) -> RedisPipeline {
    let pipeline = RedisPipeline()
    for command in commands { pipeline.append(command) }
    return pipeline
  }

  /// The digest of no script.
  private static let unknownScript = String(repeating: "0", count: 40)
}
