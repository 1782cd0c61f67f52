import Keyspace
import Model
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

/// The script that gives stragglers an owner when the segment that they left has none and no mark:
/// Redis lost what its settling wrote, or its worker died for good.
enum AdoptScript {
  static let adopt = RedisScript(
    RecordScripts.event + ClaimScripts.rules + [PackageResources.adopt_lua])
}

extension RecordStage {
  /// Plans a list of stragglers as the settling of its parent would have, and claims it, when
  /// nobody works on the parent and nothing says that it was settled. For lists that have been
  /// unplanned for longer than a crashed parent needs to come back: should it come back later all
  /// the same, this list's pushes are sent twice.
  package func adopt(
    _ claim: Claim, lifetime: Duration, now: Int64
  ) async throws(RecordError) -> ClaimResult {
    let segment = claim.segment
    let reply = try await run(
      AdoptScript.adopt, segment.event, now: now,
      arguments: [
        "segment": segment.id, "owner": claim.owner, "claim_ms": Self.milliseconds(lifetime),
        "parent": segment.stragglers?.parent ?? "",
        "pushes": String(segment.stragglers?.pushes.count ?? 0),
        "over": segment.event.isExpired(at: now) ? "over" : "",
      ])
    try await handOver(segment.event.id, now: now)
    return try Self.result(reply)
  }
}
