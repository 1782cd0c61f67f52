import Redis

/// What the device verbs and the API do with Redis, as docs/redis.md lists it for ACLs. What is
/// made is taken away again, or ends by itself.
package enum DevicePermissions {
  package static func commands(_ key: String) -> [[String]] {
    CommandPermissions.ofScripts(key) + [
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

  /// The API traces, too.
  package static func commandsOfAPI(_ key: String) -> [[String]] {
    commands(key) + [["XREVRANGE", key, "+", "-"]]
  }
}
