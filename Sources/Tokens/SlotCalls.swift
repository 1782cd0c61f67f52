import Keyspace
import Redis

extension RedisClient {
  /// Runs a script once for each call, in one round trip. The keys of a call have one hash tag.
  package func replies(
    of script: RedisScript, _ calls: [ScriptCall]
  ) async throws(RedisError) -> RedisReplies {
    assert(
      calls.allSatisfy { Keyspace.haveOneHashTag($0.keys) }, "Redis Cluster refuses one of these")
    return try await evaluate(script, calls)
  }

  /// As above; an error of any is thrown, without what it may quote.
  ///
  /// - Parameter passesOver: a key of another type is that call's answer, and not thrown.
  package func answers(
    of script: RedisScript, _ calls: [ScriptCall], passesOver: Bool = false
  ) async throws(RedisError) -> RedisReplies {
    let replies = try await replies(of: script, calls)
    for index in 0..<replies.count {
      guard let error = replies[index].error, !passesOver || error.kind != .wrongType else {
        continue
      }
      throw RedisError(error, quotes: false)
    }
    return replies
  }
}
