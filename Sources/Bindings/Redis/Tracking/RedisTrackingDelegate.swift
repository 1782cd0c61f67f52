/// Hears of servers that tell of writes, and of the writes. Called on the client's loop.
package protocol RedisTrackingDelegate: AnyObject {
  /// From now on each write to a key with the prefix is told of; of those before nothing is known.
  func trackingBegan(at server: TrackedServer)
  /// Over for good; another server object may begin.
  func trackingEnded(at server: TrackedServer)
  /// An array of keys that were written, deleted, or have expired, as they came; good for this
  /// call.
  func wereWritten(_ keys: RedisReply, at server: TrackedServer)
  /// The server was emptied, or has got another data set.
  func everythingWasWritten(at server: TrackedServer)
  /// Once at the beginning, then each `trackingInterval` as long as writes are told of.
  func intervalPassed(at server: TrackedServer)
}
