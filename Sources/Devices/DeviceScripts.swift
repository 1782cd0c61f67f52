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
