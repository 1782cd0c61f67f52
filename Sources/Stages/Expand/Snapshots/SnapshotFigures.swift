/// How snapshots of users fare in a lane.
package struct SnapshotFigures: Sendable, Equatable {
  /// Servers that tell of writes, and those of them whose snapshots are trusted.
  package var servers = 0
  package var trustedServers = 0
  /// Users of pages that asked for snapshots: who was read from one, and who was not.
  package var hits = 0
  package var misses = 0
  package var stored = 0

  package init() {}

  /// Those of another lane.
  package mutating func add(_ other: SnapshotFigures) {
    servers += other.servers
    trustedServers += other.trustedServers
    hits += other.hits
    misses += other.misses
    stored += other.stored
  }
}
