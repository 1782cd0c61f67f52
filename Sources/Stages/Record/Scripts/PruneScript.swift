import Keyspace
import Model
import Redis
import Tokens

/// The scripts that take tokens out of Redis of which Apple says that they are gone or unusable. A
/// user and a token have hash tags of their own, and so a script each.
enum PruneScript {
  static let prune = RedisScript([
    SharedLua.permissions, PackageResources.trying_lua, TokenLua.tokenOf, TokenLua.holding,
    PackageResources.prune_lua,
  ])
  static let count = RedisScript(
    RecordScripts.event
      + [PackageResources.verdict_counts_lua, PackageResources.count_verdicts_lua])
}
