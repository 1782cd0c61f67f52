import Devices
import Keyspace
import Record
import Redis

/// Whether our user may do with Redis all that a process does. One that lacks a command finds that
/// out when it first needs it, and events wait until then: here each is tried, on keys of nobody's
/// that are gone within seconds.
enum RedisPermissions {
  /// What dashboards may see.
  private static func shownProbe(_ keyspace: Keyspace) -> String {
    "\(keyspace.dashboardsPrefix){check}"
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
  static func commands(
    _ keyspace: Keyspace, _ options: RedisOptions, for process: CheckedProcess
  ) -> [[String]] {
    switch process {
    case .worker: WorkerPermissions.commands(keyspace.probe, options)
    case .api: DevicePermissions.commandsOfAPI(keyspace.probe)
    case .devices: DevicePermissions.commands(keyspace.probe)
    case .fanout: ofFanOuts(shownProbe(keyspace))
    case .emit, .send: []
    }
  }

  /// Whoever stops fan-outs may look at nothing else than what dashboards see.
  private static func ofFanOuts(_ key: String) -> [[String]] {
    CommandPermissions.ofScripts(key) + [
      ["HSET", key, "a", "1"], ["EXPIRE", key, "1"], ["HGET", key, "a"], ["HMGET", key, "a"],
      ["HGETALL", key], ["HDEL", key, "a"], ["XREVRANGE", key, "+", "-"],
    ]
  }
}
