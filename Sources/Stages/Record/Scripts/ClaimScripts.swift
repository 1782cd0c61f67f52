import Keyspace
import Redis

/// The scripts that decide who works on a segment. Time is Redis' own, so that workers whose clocks
/// differ agree on the end of a claim (`clock.lua`).
enum ClaimScripts {
  /// Decide which worker may work on a segment.
  static let rules = [PackageResources.clock_lua, PackageResources.claims_lua]

  static let claim = RedisScript(
    [SharedLua.permissions, PackageResources.event_keys_lua] + rules
      + [PackageResources.claim_lua])
  static let renew = RedisScript([PackageResources.clock_lua, PackageResources.renew_lua])
  static let release = RedisScript([PackageResources.clock_lua, PackageResources.release_lua])
  static let drop = RedisScript([PackageResources.drop_lua])
  static let keepSettled = RedisScript([PackageResources.keep_settled_lua])
  static let overdue = RedisScript([PackageResources.clock_lua, PackageResources.overdue_lua])
  static let beginRecovery = RedisScript([
    PackageResources.clock_lua, PackageResources.begin_recovery_lua,
  ])
}
