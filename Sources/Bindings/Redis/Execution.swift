import EventLoop

/// A pipeline on its way: waits for a connection or for its replies.
final class Execution {
  let pipeline: RedisPipeline
  let replies: RedisReplies
  let timeout: Duration
  var isSent = false
  var timer: LoopTimer?
  /// Added to `timeout` once, where it waits for the look-up of a name.
  var namesTime: Duration?
  /// The reply to ROLE behind the pipeline's own commands; nil when it is not asked.
  var role: RedisReplies?
  /// Called once, at the end.
  var whenFinished: (() -> Void)?
  private(set) var failure: RedisError?
  /// Given back by its connection, unsent, with time left.
  private(set) var isReturned = false

  init(_ pipeline: RedisPipeline, _ replies: RedisReplies, timeout: Duration) {
    self.pipeline = pipeline
    self.replies = replies
    self.timeout = timeout
  }

  var isAnswered: Bool { replies.isComplete && role?.isComplete != false }

  /// Ends it unsent, for another connection.
  func giveBack(_ failure: RedisError) {
    isReturned = true
    finish(failure)
  }

  /// Once; later calls do nothing.
  func finish(_ failure: RedisError?) {
    guard let whenFinished else { return }
    self.whenFinished = nil
    self.failure = failure
    timer?.cancel()
    whenFinished()
  }
}

extension RedisConnection {
  /// Asks the server something about itself, behind what was submitted before. Nil: it did not
  /// answer, or the answer is no master's where a master is wanted.
  func ask(_ question: [String], whenDone: @escaping (RedisReply?) -> Void) {
    let replies = RedisReplies(expecting: 1, maximumBytes: RedisReplyReader.maximumLineBytes)
    let execution = Execution(RedisPipeline(question), replies, timeout: options.commandTimeout)
    execution.whenFinished = { [unowned execution] in
      whenDone(execution.failure == nil ? replies[0] : nil)
    }
    submit(execution)
  }

  /// Returns when all replies are there; see `RedisClient.execute`.
  func execute(
    _ pipeline: RedisPipeline, timeout: Duration, maximumReplyBytes: Int
  ) async throws(RedisError) -> RedisReplies {
    let replies = RedisReplies(expecting: pipeline.count, maximumBytes: maximumReplyBytes)
    guard pipeline.count > 0 else { return replies }
    if let refusal { throw refusal }
    let execution = Execution(pipeline, replies, timeout: timeout)
    await withCheckedContinuation { continuation in
      execution.whenFinished = { continuation.resume() }
      submit(execution)
    }
    if let failure = execution.failure { throw failure }
    return replies
  }
}
