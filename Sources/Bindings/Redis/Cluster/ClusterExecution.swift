/// A pipeline that a cluster works on.
final class ClusterExecution {
  let pipeline: RedisPipeline
  let timeout: Duration
  /// By the loop's clock.
  let deadline: UInt64
  let maximumReplyBytes: Int
  /// Of all nodes together, and of what is answered again elsewhere.
  let allowance: ReplyAllowance
  var routing: ClusterRouting
  /// Called once, at the end.
  var whenFinished: (() -> Void)?
  private(set) var failure: RedisError?

  init(
    _ pipeline: RedisPipeline, _ commands: [ScannedCommand], timeout: Duration, deadline: UInt64,
    maximumReplyBytes: Int, mayLag: Bool
  ) {
    self.pipeline = pipeline
    self.timeout = timeout
    self.deadline = deadline
    self.maximumReplyBytes = maximumReplyBytes
    allowance = ReplyAllowance(maximumReplyBytes)
    routing = ClusterRouting(commands, mayLag: mayLag)
  }

  func remaining(at now: UInt64) -> Duration {
    .nanoseconds(Int64(clamping: deadline > now ? deadline - now : 0))
  }

  /// The pipeline of a node: the caller's own when the node gets all of it.
  func pipeline(of part: ClusterRouting.Part) -> RedisPipeline {
    if part.commands.count == routing.commands.count, !part.isAsking { return pipeline }
    let bytes = part.commands.reduce(0) { $0 + routing.commands[$1].bytes.count + 32 }
    let divided = RedisPipeline(capacity: bytes)
    for command in part.commands {
      if part.isAsking { divided.append("ASKING") }
      divided.append(commandOf: pipeline, at: routing.commands[command].bytes)
    }
    return divided
  }

  /// For a node's answer.
  func replies(of part: ClusterRouting.Part) -> RedisReplies {
    RedisReplies(
      expecting: part.commands.count * (part.isAsking ? 2 : 1), maximumBytes: maximumReplyBytes,
      allowance: allowance)
  }

  /// Once; later calls do nothing.
  func finish(_ failure: RedisError?) {
    guard let whenFinished else { return }
    self.whenFinished = nil
    self.failure = failure
    whenFinished()
  }

  var replies: RedisReplies {
    let sources = routing.gathered.sources
    let isWhole = sources.count == 1 && sources[0].count == routing.commands.count
    return isWhole ? sources[0] : RedisReplies(routing.gathered)
  }
}
