import EventLoop

/// Reads that may lag, where replicas are read from.
extension RedisConnection {
  func readFromReplicas(counting reads: ReplicaReads) {
    guard let limit = options.replicaLagLimit else { return }
    replicas = RedisReplicas(of: self, limit: limit, counting: reads)
  }

  /// As `execute`: at a replica, and what it does not answer at this master. `timeout` and
  /// `maximumReplyBytes` are for both together.
  func read(
    _ pipeline: RedisPipeline, timeout: Duration, maximumReplyBytes: Int
  ) async throws(RedisError) -> RedisReplies {
    guard let replicas, pipeline.count > 0 else {
      return try await execute(
        pipeline, timeout: timeout, maximumReplyBytes: maximumReplyBytes)
    }
    let began = EventLoop.monotonicNanoseconds()
    let replies = RedisReplies(expecting: pipeline.count, maximumBytes: maximumReplyBytes)
    let answer = await withCheckedContinuation { continuation in
      replicas.read(pipeline, replies, timeout: timeout) { continuation.resume(returning: $0) }
    }
    let passed = Int64(clamping: EventLoop.monotonicNanoseconds() &- began)
    let rest = timeout - .nanoseconds(passed)
    switch answer {
    case .failed(let error): throw error
    case .none:
      return try await execute(pipeline, timeout: rest, maximumReplyBytes: maximumReplyBytes)
    case .whole(let missing):
      guard !missing.isEmpty, let lacking = pipeline.selecting(missing) else { return replies }
      let others = try await execute(
        lacking, timeout: rest, maximumReplyBytes: maximumReplyBytes - replies.byteCount)
      return RedisReplies(replies, replacing: missing, by: others)
    }
  }
}

extension RedisPipeline {
  /// Some of the commands, in a pipeline of their own. Nil: this holds what is no command.
  func selecting(_ indices: [Int]) -> RedisPipeline? {
    guard let commands = CommandScanner.commands(of: self) else { return nil }
    let selected = RedisPipeline()
    for index in indices { selected.append(commandOf: self, at: commands[index].bytes) }
    return selected
  }
}

extension RedisReply {
  /// As a key answers that is not there: null, or an array without anything but nulls.
  var isMissing: Bool {
    switch kind {
    case .null: true
    case .array: (0..<count).allSatisfy { self[$0].kind == .null }
    case .string, .integer, .status, .error: false
    }
  }
}

extension RedisErrorReply.Kind {
  /// The slot is, or goes, elsewhere; a node of the cluster says so that is well.
  var isOfMove: Bool {
    switch self {
    case .moved, .ask, .tryAgain, .clusterDown: true
    default: false
    }
  }
}
