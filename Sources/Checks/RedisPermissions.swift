import Keyspace
import Record
import Redis

/// Whether our user may do with Redis all that a process does. One that lacks a command finds that
/// out when it first needs it, and events wait until then: here each is tried, on keys of nobody's
/// that are gone within seconds.
enum RedisPermissions {
  /// What a master refuses our user, in the order of `commands`: each node of a cluster has users
  /// of its own. One that does not serve the key says so, after it has looked at our permissions.
  static func missing(
    _ client: RedisClient, at master: RedisMaster, _ keyspace: Keyspace, _ options: RedisOptions,
    _ process: CheckedProcess
  ) async throws(RedisError) -> [String] {
    var tried = commands(probe(of: process, keyspace), for: process)
    if process == .worker, options.replicasToWaitFor > 0 { tried.append(["WAIT", "0", "1"]) }
    if !options.clusterNodes.isEmpty { tried += [["ASKING"], ["TIME"]] }
    let pipeline = RedisPipeline()
    for command in tried { pipeline.append(command) }
    return WorkerPermissions.refused(tried, try await client.execute(pipeline, at: master))
  }

  /// What dashboards may see.
  private static func shownProbe(_ keyspace: Keyspace) -> String {
    "\(keyspace.dashboardsPrefix){check}"
  }

  /// Whoever stops fan-outs may look at nothing else than what dashboards see.
  static func probe(of process: CheckedProcess, _ keyspace: Keyspace) -> String {
    process == .fanout ? shownProbe(keyspace) : keyspace.probe
  }

  /// Whether Redis takes writes, the first of the replies says. Nothing of it stays.
  static func write(_ keyspace: Keyspace, for process: CheckedProcess) -> RedisPipeline {
    switch process {
    case .fanout:
      let pipeline = RedisPipeline(["HSET", shownProbe(keyspace), "a", "1"])
      pipeline.append(["HDEL", shownProbe(keyspace), "a"])
      return pipeline
    case .devices: return RedisPipeline(["SET", keyspace.probe, "1", "EX", "1"])
    case .worker, .api, .emit, .send:
      return RedisPipeline(["SET", shownProbe(keyspace), "1", "EX", "1"])
    }
  }

  /// Each of the process' commands, as docs/redis.md lists them for ACLs, but for those with which
  /// every connection begins. What is made is taken away again, or ends by itself.
  static func commands(_ key: String, for process: CheckedProcess) -> [[String]] {
    switch process {
    case .worker: WorkerPermissions.commands(key)
    case .api: ofDevices(key) + [["XREVRANGE", key, "+", "-"]]
    case .devices: ofDevices(key)
    case .fanout: ofFanOuts(key)
    case .emit, .send: []
    }
  }

  private static func ofScripts(_ key: String) -> [[String]] {
    [
      ["EVAL", "return 1", "1", key], ["EVALSHA", unknownScript, "1", key],
      ["SCRIPT", "LOAD", "return 1"],
    ]
  }

  private static func ofDevices(_ key: String) -> [[String]] {
    ofScripts(key) + [
      ["TIME"], ["SET", key, "1", "EX", "1"], ["GET", key], ["TYPE", key], ["EXISTS", key],
      ["DEL", key],
      ["SADD", key, "a"], ["EXPIRE", key, "1"], ["SMEMBERS", key], ["SCARD", key],
      ["SISMEMBER", key, "a"], ["SRANDMEMBER", key, "1"], ["SSCAN", key, "0"],
      ["SCAN", "0", "COUNT", "1"], ["SREM", key, "a"], ["DEL", key],
      ["HSET", key, "a", "1"], ["EXPIRE", key, "1"], ["HSETNX", key, "b", "1"],
      ["HINCRBY", key, "a", "1"], ["HGET", key, "a"], ["HMGET", key, "a", "b"], ["HKEYS", key],
      ["HGETALL", key], ["HSCAN", key, "0"], ["HLEN", key], ["HEXISTS", key, "a"],
      ["HDEL", key, "a", "b"], ["UNLINK", key],
      ["ZADD", key, "1", "a"], ["EXPIRE", key, "1"], ["ZSCORE", key, "a"], ["ZCARD", key],
      ["ZREMRANGEBYSCORE", key, "-inf", "+inf"], ["DEL", key],
    ]
  }

  private static func ofFanOuts(_ key: String) -> [[String]] {
    ofScripts(key) + [
      ["HSET", key, "a", "1"], ["EXPIRE", key, "1"], ["HGET", key, "a"], ["HMGET", key, "a"],
      ["HGETALL", key], ["HDEL", key, "a"], ["XREVRANGE", key, "+", "-"],
    ]
  }

  /// The digest of no script.
  private static let unknownScript = String(repeating: "0", count: 40)
}
