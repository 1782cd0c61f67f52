/// Where reads that may lag were answered. Shared by all connections of a client, so that counts
/// outlive them; confined to its loop.
final class ReplicaReads {
  /// Of many commands at a time, by a replica.
  var answered = 0
  /// By the master, because no replica was fresh, or the one that was asked did not answer.
  var fellBack = 0
}
