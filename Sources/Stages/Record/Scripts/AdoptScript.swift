import Model
import Redis

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
