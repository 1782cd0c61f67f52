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
