import Keyspace
import Redis

extension RedisClient {
  /// Runs a script once for each call, in one round trip; an error of any is thrown, without what
  /// it may quote. The keys of a call have one hash tag.
  package func answers(
    of script: RedisScript, _ calls: [ScriptCall]
  ) async throws(RedisError) -> RedisReplies {
    assert(
      calls.allSatisfy { Keyspace.haveOneHashTag($0.keys) }, "Redis Cluster refuses one of these")
    let replies = try await evaluate(script, calls)
    if let error = replies.firstError { throw RedisError(error, quotes: false) }
    return replies
  }
}
