import Keyspace
import Redis

/// Whether our user may do with Redis all that a worker does. A worker that lacks a command finds
/// that out when it first needs it, and events wait until then: when it starts each is tried, on a
/// key of nobody's that is gone within seconds, and so does `fanfare check`.
package enum WorkerPermissions {
  /// What any master refuses our user, each command once. Throws while one of them does not answer.
  package static func missing(
    _ client: RedisClient, _ keyspace: Keyspace, _ options: RedisOptions
  ) async throws(RedisError) -> [String] {
    var tried = commands(keyspace.probe)
    if options.replicasToWaitFor > 0 { tried.append(["WAIT", "0", "1"]) }
    if !options.clusterNodes.isEmpty { tried += [["ASKING"], ["TIME"]] }
    let pipeline = RedisPipeline()
    for command in tried { pipeline.append(command) }
    var names: [String] = []
    for (_, replies) in try await client.executeOnMasters(pipeline) {
      for name in refused(tried, replies) where !names.contains(name) { names.append(name) }
    }
    return names
  }

  /// The names of those commands that our user may not use, by what was answered.
  package static func refused(_ commands: [[String]], _ replies: RedisReplies) -> [String] {
    var names: [String] = []
    for (index, command) in commands.enumerated()
    where replies[index].errorText?.hasPrefix("NOPERM") == true && !names.contains(command[0]) {
      names.append(command[0])
    }
    return names
  }

  /// Each of a worker's commands, as docs/redis.md lists them for ACLs, but for those with which
  /// every connection begins. What is made is taken away again, or ends by itself.
  package static func commands(_ key: String) -> [[String]] {
    [
      ["TIME"], ["EVAL", "return 1", "1", key], ["EVALSHA", unknownScript, "1", key],
      ["SCRIPT", "LOAD", "return 1"],
      ["SET", key, "1", "EX", "1"], ["GET", key], ["TYPE", key], ["EXISTS", key], ["DEL", key],
      ["SADD", key, "a"], ["EXPIRE", key, "1"], ["SMEMBERS", key], ["SCARD", key],
      ["SISMEMBER", key, "a"], ["SMISMEMBER", key, "a", "b"], ["SSCAN", key, "0"],
      ["SREM", key, "a"], ["DEL", key],
      ["HSET", key, "a", "1"], ["EXPIRE", key, "1"], ["HSETNX", key, "b", "1"],
      ["HINCRBY", key, "a", "1"], ["HGET", key, "a"], ["HMGET", key, "a", "b"], ["HKEYS", key],
      ["HGETALL", key], ["PERSIST", key], ["HDEL", key, "a", "b"], ["DEL", key],
      ["ZADD", key, "1", "a"], ["EXPIRE", key, "1"], ["ZSCORE", key, "a"], ["ZCARD", key],
      ["ZREMRANGEBYSCORE", key, "-inf", "+inf"], ["DEL", key],
      ["XADD", key, "*", "a", "1"], ["EXPIRE", key, "1"],
      ["XREVRANGE", key, "+", "-", "COUNT", "1"], ["DEL", key],
    ]
  }

  /// The digest of no script.
  private static let unknownScript = String(repeating: "0", count: 40)
}
