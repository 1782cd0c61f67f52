import Keyspace
import Redis

/// The scripts behind `TokenMoves`: on a token's keys (`moves.lua`), or on one user's
/// (`user_tokens.lua`).
enum TokenScripts {
  static let claim = RedisScript([
    SharedLua.types, PackageResources.moves_lua, PackageResources.claim_lua,
  ])
  static let release = RedisScript([PackageResources.moves_lua, PackageResources.release_lua])
  static let settle = RedisScript([PackageResources.moves_lua, PackageResources.settle_lua])
  static let leave = RedisScript([
    SharedLua.types, SharedLua.permissions, TokenLua.tokenOf, TokenLua.userTokens,
    TokenLua.freeing, TokenLua.dropping, PackageResources.leave_lua,
  ])
  static let look = RedisScript([
    TokenLua.tokenOf, TokenLua.holding, TokenLua.userTokens, PackageResources.look_lua,
  ])
}

/// Lua that scripts on a user's devices begin with.
package enum TokenLua {
  /// `token_of(member)`.
  package static let tokenOf = PackageResources.token_of_lua
  /// `has(bindings, token)`.
  package static let holding = PackageResources.holding_lua
  /// A user's moves, as the scripts know them of a token.
  package static let userTokens = PackageResources.user_tokens_lua
  /// `may_not_free(key)`.
  package static let freeing = PackageResources.freeing_lua
  /// How a device is taken out.
  package static let dropping = PackageResources.dropping_lua
  /// The arguments of `userTokens`.
  package static let movesLifetime: ScriptArguments = [
    "moves_lifetime_seconds": String(Keyspace.movesLifetimeSeconds)
  ]
}

extension RedisClient {
  /// Runs a script once for each call, in one round trip. The keys of a call have one hash tag.
  package func replies(
    of script: RedisScript, _ calls: [ScriptCall]
  ) async throws(RedisError) -> RedisReplies {
    assert(
      calls.allSatisfy { Keyspace.haveOneHashTag($0.keys) }, "Redis Cluster refuses one of these")
    return try await evaluate(script, calls)
  }

  /// As above; an error of any is thrown, without what it may quote.
  ///
  /// - Parameter passesOver: a key of another type is that call's answer, and not thrown.
  package func answers(
    of script: RedisScript, _ calls: [ScriptCall], passesOver: Bool = false
  ) async throws(RedisError) -> RedisReplies {
    let replies = try await replies(of: script, calls)
    for index in 0..<replies.count {
      guard let error = replies[index].error, !passesOver || error.kind != .wrongType else {
        continue
      }
      throw RedisError(error, quotes: false)
    }
    return replies
  }
}
