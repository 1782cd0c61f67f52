import Keyspace
import Redis

/// Redis commands of the device verbs and the API, as docs/redis.md lists them for ACLs. Keys that
/// they make are taken away again, or end by themselves.
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

  /// Throws where our user may not do all of this: what takes several steps is not begun then.
  package static func check(
    _ redis: RedisClient, _ keyspace: Keyspace
  ) async throws(DevicesError) {
    let missing: [String]
    do throws(RedisError) {
      missing = try await CommandPermissions.missing(
        redis, commands(keyspace.probe), RedisOptions())
    } catch {
      throw DevicesError(error)
    }
    guard missing.isEmpty else {
      let names = missing.joined(separator: ", ")
      throw DevicesError(reply: "NOPERM our user may not run \(names); nothing was changed")
    }
  }

  /// The API traces, too.
  package static func commandsOfAPI(_ key: String) -> [[String]] {
    commands(key) + [["XREVRANGE", key, "+", "-"], ["ZRANGE", key, "0", "0"]]
  }
}
