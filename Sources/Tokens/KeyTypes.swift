import Keyspace
import Redis

/// A key, and the type that it must have.
package struct TypedKey: Sendable {
  package let key: String
  package let type: String

  package init(_ key: String, _ type: String) {
    self.key = key
    self.type = type
  }
}

extension Keyspace {
  /// `movingKeys` with their types.
  package func typedMovingKeys(user: String) -> [TypedKey] {
    zip(movingKeys(user: user), ["set", "hash", "hash", "zset"]).map { TypedKey($0, $1) }
  }
}

extension RedisClient {
  /// Of each list of keys the first that holds another type, as an error; nil where there is none.
  package func wrongTypes(_ lists: [[TypedKey]]) async throws(RedisError) -> [RedisError?] {
    let pipeline = RedisPipeline()
    for key in lists.joined() { pipeline.append(["TYPE", key.key]) }
    let replies = try await execute(pipeline)
    if let error = replies.firstError { throw RedisError(error, quotes: false) }
    var index = 0
    return lists.map { keys in
      defer { index += keys.count }
      for (offset, key) in keys.enumerated() {
        let type = replies[index + offset].text ?? "none"
        if type != "none", type != key.type { return .wrongType(of: key.key, type, not: key.type) }
      }
      return nil
    }
  }
}
