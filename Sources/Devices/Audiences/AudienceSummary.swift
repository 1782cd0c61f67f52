import Keyspace
import Model

/// The result of an import, a seed or a resharding.
package struct AudienceSummary: Sendable, Equatable {
  package var devices = 0
  package var followers = 0
  package var shards = 0
  package var generation = 0
  /// Members of the source that are no user ids; they were left out.
  package var skipped = 0
}
