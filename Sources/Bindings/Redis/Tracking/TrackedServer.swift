/// One process of Redis on two connections: commands go by the one, and the other hears of each
/// write to keys with a prefix (`CLIENT TRACKING`, broadcasting mode). Over for good as soon as
/// either connection is lost, or the server is no master any more. Confined to its loop.
package final class TrackedServer {
  /// Which process: another start of it is another.
  package let runIdentifier: String
  /// For messages.
  package let name: String
  /// The master's own, which lets go of this when it is over.
  private unowned let tracking: RedisTracking
  private let master: RedisConnection

  init(_ runIdentifier: String, of master: RedisConnection, _ tracking: RedisTracking) {
    self.runIdentifier = runIdentifier
    self.master = master
    self.tracking = tracking
    name = master.options.name
  }

  /// Whether every write is still told of.
  package internal(set) var isTracking = true

  /// Sends the commands to this server and to no other, in the order of calls. A server of a
  /// cluster answers MOVED or ASK for keys that are not its own. `whenAnswered` gets nil when there
  /// is no answer, perhaps at once. A larger answer than `maximumReplyBytes` costs the connection,
  /// and the server is over. The pipeline is not to be changed until then.
  package func send(
    _ pipeline: RedisPipeline, maximumReplyBytes: Int = .max,
    whenAnswered: @escaping (RedisReplies?) -> Void
  ) {
    guard isTracking, pipeline.failure == nil, pipeline.count > 0, master.refusal == nil else {
      return whenAnswered(nil)
    }
    let replies = RedisReplies(
      expecting: pipeline.count,
      maximumBytes: min(maximumReplyBytes, master.options.maximumReplyBytes))
    let execution = Execution(pipeline, replies, timeout: master.options.commandTimeout)
    execution.whenFinished = { [unowned execution] in
      whenAnswered(execution.failure == nil ? replies : nil)
    }
    master.submit(execution)
  }

  /// `whenDone` is called when every write has been told of that was done before the call, or when
  /// nothing is told of any more: look at `isTracking`.
  package func fence(whenDone: @escaping () -> Void) {
    guard isTracking else { return whenDone() }
    tracking.fence(whenDone)
  }
}
