import Keyspace
import Redis

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
