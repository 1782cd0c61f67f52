import Keyspace
import Redis
import Tokens

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
