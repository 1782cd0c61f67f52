import Redis

/// Why followers or recipients could not be read. All but `expired` and a closed client that is not
/// transient belongs to the dead letters: it is no empty set.
package typealias ExpandError = StoreError<ExpandErrorCode>

package enum ExpandErrorCode: StoreErrorCode {
  /// Redis did not do what it was asked. After a time-out less is asked for.
  case redis(RedisError.Code)
  /// A key holds a value that the contract rules out.
  case badContent
  /// The event expired before all of its followers could be read: what was read counts, the rest
  /// is given up.
  case expired
  /// The streamer's id cannot stand in a key.
  case invalid

  package var ofRedis: RedisError.Code? { if case .redis(let code) = self { code } else { nil } }
  package var isTransientItself: Bool { false }
}

extension ExpandError {
  /// `key` is what `command` was to read, `wanted` what stands there by contract.
  init(reply error: RedisErrorReply, to command: String, key: String, wanted: String) {
    self.init(RedisError(error, to: RedisRead(command, key, wanted: wanted)))
  }

  static func unexpected(_ reply: RedisReply, to command: String, key: String) -> ExpandError {
    ExpandError(.unexpected(reply, to: RedisRead(command, key)))
  }
}

extension RedisReply {
  /// This reply when it is an array; everything else is an error.
  func array(from command: String, key: String, wanted: String) throws(ExpandError) -> RedisReply {
    if let error { throw ExpandError(reply: error, to: command, key: key, wanted: wanted) }
    guard kind == .array else { throw ExpandError.unexpected(self, to: command, key: key) }
    return self
  }
}

extension RedisClient {
  func replies(
    to pipeline: RedisPipeline, maximumBytes: Int
  ) async throws(ExpandError) -> RedisReplies {
    do {
      return try await execute(pipeline, maximumReplyBytes: maximumBytes)
    } catch {
      throw ExpandError(error)
    }
  }
}
