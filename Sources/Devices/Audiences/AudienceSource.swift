import Keyspace

/// Where `AudienceSharding` takes followers from.
package enum AudienceSource: Sendable, Equatable {
  /// One plain set that another system keeps. It stays, and from the last step on nobody reads it.
  /// Who follows and unfollows by `Config/redis/follow.lua` is missed at no time; a bare SADD may
  /// be.
  case plain(key: String)
  /// The streamer's current generation, which has grown or shrunk out of its shards.
  case current
}
