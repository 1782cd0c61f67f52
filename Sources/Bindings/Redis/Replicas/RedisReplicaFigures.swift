/// How reads that may lag go.
package struct RedisReplicaFigures: Sendable {
  /// All that the masters name, whether they are read from or not.
  package let replicas: [RedisReplica]
  /// Names of masters without a replica that is read from.
  package let mastersAlone: [String]
  /// Reads, of many commands at a time, that replicas answered.
  package let answered: Int
  /// Those that went to the master, because no replica was fresh or the one asked did not answer.
  package let fellBack: Int

  init(_ masters: [(master: String, replicas: [RedisReplica]?)], _ counts: RedisCounts) {
    replicas = masters.flatMap { $0.replicas ?? [] }
    mastersAlone = masters.filter { master in
      master.replicas?.contains { $0.obstacle == nil } != true
    }.map(\.master)
    answered = counts.replicaReads
    fellBack = counts.replicaFallBacks
  }

  /// Each master has a replica, and all of them are read from.
  package var isComplete: Bool {
    mastersAlone.isEmpty && replicas.allSatisfy { $0.obstacle == nil }
  }

  package var worstLag: Duration? { replicas.map(\.lag).max() }
}

/// One replica of a master, for people.
package struct RedisReplica: Sendable {
  /// The name of its master.
  package let master: String
  /// `host:port`, as the master announces it.
  package let name: String
  /// It lacks nothing that is older.
  package let lag: Duration
  /// Why it is not read from; nil when it is.
  package let obstacle: String?
}

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
