/// Counts of a client. All of its connections share them, so that counts outlive these; confined to
/// its loop.
final class RedisCounts {
  /// Reads that may lag, many commands at a time, by a replica.
  var replicaReads = 0
  /// By the master, because no replica was fresh, or the one that was asked did not answer.
  var replicaFallBacks = 0
  /// Connections to masters that were there and broke.
  var brokenConnections = 0
}
