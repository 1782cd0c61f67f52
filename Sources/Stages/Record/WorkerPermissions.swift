import Redis

/// Redis commands of a worker, as docs/redis.md lists them for ACLs.
package enum WorkerPermissions {
  /// Each of a worker's commands but for those with which every connection begins. Keys that they
  /// make are removed again, or end by themselves.
  package static func commands(_ key: String, _ options: RedisOptions) -> [[String]] {
    let waits = options.replicasToWaitFor > 0 ? [["WAIT", "0", "1"]] : []
    return CommandPermissions.ofScripts(key) + waits + [
      ["TIME"],
      ["SET", key, "1", "EX", "1"], ["GET", key], ["TYPE", key], ["EXISTS", key], ["DEL", key],
      ["SADD", key, "a"], ["EXPIRE", key, "1"], ["SMEMBERS", key], ["SCARD", key],
      ["SISMEMBER", key, "a"], ["SMISMEMBER", key, "a", "b"], ["SSCAN", key, "0"],
      ["SREM", key, "a"], ["DEL", key],
      ["HSET", key, "a", "1"], ["EXPIRE", key, "1"], ["HSETNX", key, "b", "1"],
      ["HINCRBY", key, "a", "1"], ["HGET", key, "a"], ["HMGET", key, "a", "b"], ["HKEYS", key],
      // For `fanfare trace`, which is told to use the same user.
      ["HLEN", key],
      ["HGETALL", key], ["PERSIST", key], ["HDEL", key, "a", "b"], ["DEL", key],
      ["ZADD", key, "1", "a"], ["EXPIRE", key, "1"], ["ZSCORE", key, "a"], ["ZCARD", key],
      ["ZRANGE", key, "0", "0"], ["ZREM", key, "b"],
      ["ZREMRANGEBYSCORE", key, "-inf", "+inf"], ["DEL", key],
      ["XADD", key, "*", "a", "1"], ["EXPIRE", key, "1"],
      ["XREVRANGE", key, "+", "-", "COUNT", "1"], ["DEL", key],
    ]
  }
}
