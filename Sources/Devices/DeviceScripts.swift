import Keyspace
import Model
import Redis
import Tokens

/// The scripts behind `TokenBinder` and profiles, on one user's keys alone. No script writes before
/// it has checked every type, nor one that takes a device out before it knows that it may do all of
/// it.
enum DeviceScripts {
  static let take = RedisScript([
    SharedLua.types, SharedLua.permissions, TokenLua.tokenOf, TokenLua.userTokens,
    TokenLua.freeing, TokenLua.dropping, PackageResources.latest_lua, PackageResources.late_lua,
    PackageResources.twins_lua, PackageResources.take_lua,
  ])
  static let replace = RedisScript([
    SharedLua.types, SharedLua.permissions, TokenLua.tokenOf, TokenLua.holding,
    TokenLua.userTokens, TokenLua.freeing, TokenLua.dropping, PackageResources.latest_lua,
    PackageResources.late_lua, PackageResources.twins_lua, PackageResources.replace_lua,
  ])
  static let drop = RedisScript([
    SharedLua.types, SharedLua.permissions, TokenLua.tokenOf, TokenLua.holding,
    TokenLua.userTokens, TokenLua.freeing, TokenLua.dropping, PackageResources.drop_device_lua,
  ])
  static let restore = RedisScript([
    SharedLua.types, SharedLua.permissions, TokenLua.tokenOf, TokenLua.userTokens,
    PackageResources.latest_lua, PackageResources.late_lua, PackageResources.restore_lua,
  ])

  static let profile = RedisScript([PackageResources.profile_lua])
  static let mute = RedisScript([PackageResources.mute_lua])
  static let lastBound = RedisScript([
    TokenLua.tokenOf, PackageResources.latest_lua, PackageResources.last_bound_lua,
  ])

  /// Arguments of each script that binds a token.
  static let lifetimes: ScriptArguments = TokenLua.movesLifetime + tolerance

  /// How far another clock may be ahead.
  static let tolerance: ScriptArguments = ["tolerance_ms": String(BindingTime.tolerance)]
}

/// The scripts behind follows and rewrites: on a streamer's hash alone, because each shard has
/// another hash tag.
enum AudienceScripts {
  static let confirm = RedisScript([PackageResources.confirm_lua])
  static let reserve = RedisScript([SharedLua.types, PackageResources.reserve_lua])
  static let announce = RedisScript([
    PackageResources.retiring_lua, PackageResources.announce_lua,
  ])
  static let forget = RedisScript([PackageResources.forget_lua])
  static let flip = RedisScript([
    SharedLua.permissions, PackageResources.retiring_lua, PackageResources.flip_lua,
  ])
  static let abandon = RedisScript([PackageResources.retiring_lua, PackageResources.abandon_lua])
}

/// The scripts that forget a user, on that user's keys alone. No script takes anything out before
/// it knows that it may do all that is to follow on these keys.
enum ErasureScripts {
  static let erase = RedisScript([
    SharedLua.permissions, TokenLua.freeing, PackageResources.erase_lua,
  ])
  static let drop = RedisScript([
    SharedLua.permissions, TokenLua.freeing, PackageResources.erase_devices_lua,
  ])
  static let finish = RedisScript([PackageResources.finish_erasure_lua])
  static let markEmpty = RedisScript([PackageResources.mark_empty_lua])
  static let removeEmpty = RedisScript([PackageResources.remove_empty_lua])
}
