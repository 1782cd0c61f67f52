import Keyspace
import Redis

/// How the followers of a streamer stand in Redis.
package struct AudienceReport: Sendable, Equatable {
  package enum Place: Sendable, Equatable {
    case nowhere
    /// In a set that another system keeps, without shards.
    case plain(key: String)
    case shards
  }

  package let streamer: String
  package let place: Place
  /// Those that fan-outs read, counted now.
  package let followers: Int
  /// What stands in the heading for people to see; it may be a little off.
  package let noted: Int?
  package let shards: Int
  package let generation: Int
  package let largestShard: Int
  /// How many shards so many followers should have.
  package let recommendedShards: Int
  /// While they are divided again, the shards that are to come.
  package let comingShards: Int?
  /// Some of the followers; nobody in particular.
  package let sample: [String]

  package var hasOutgrownShards: Bool { shards < recommendedShards }
}
