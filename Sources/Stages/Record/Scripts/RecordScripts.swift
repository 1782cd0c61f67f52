import Keyspace
import Redis

/// The scripts that run inside Redis. A script either writes everything or, when a key it must own
/// has the wrong type, nothing; counters that cannot be added to (overflow, another type) are
/// passed over and counted in `record_errors`, so that a broken counter never holds up a segment.
/// Missing permissions are found out before anything is written: half a script's writes would be
/// counted twice when it is repeated.
///
/// The keys of a script share one hash tag, so that it runs on Redis Cluster too: an event's, a
/// user's, a token's, a streamer's, an app's, or that of the statistics.
enum RecordScripts {
  /// The beginning of the scripts on an event.
  static let event = [
    SharedLua.permissions, SharedLua.types, PackageResources.trying_lua,
    PackageResources.event_keys_lua, PackageResources.event_lua,
  ]

  static let expire = RedisScript(
    event + [
      PackageResources.clock_lua, PackageResources.scheduled_lua, PackageResources.expire_lua,
    ])
  static let settle = RedisScript(
    event
      + [
        PackageResources.fan_out_end_lua, PackageResources.verdict_counts_lua,
        PackageResources.notes_lua, PackageResources.settle_lua,
      ])
  static let series = RedisScript([PackageResources.series_lua])
}
