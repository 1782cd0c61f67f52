import Model
import Redis

/// The Lua that gives stragglers an owner when the segment that they left has none and no mark:
/// Redis lost what its settling wrote, or its worker died for good.
enum AdoptScript {
  static let adopt = RedisScript(
    RecordScripts.permissions + RecordScripts.prelude + ClaimScripts.clock + ClaimScripts.rules
      + body)

  /// ARGV 6…11: segment, owner, ms that a claim lives, the segment that the stragglers left, how
  /// many pushes they are, whether the event is over.
  /// Answers as the script that claims.
  private static let body = """
    local segment, owner, parent = ARGV[6], ARGV[7], ARGV[9]
    local function running(name)
      local held = redis.call('HGET', claims, name)
      if not held then return end
      local other, ends = read(held)
      if other ~= owner and ends > now then return ends end
    end
    if redis.call('SISMEMBER', settled, segment) == 1 then
      return {'settled', whole(now), '0'}
    end
    if redis.call('SISMEMBER', stragglers, segment) == 0 then
      if redis.call('SISMEMBER', settled, parent) == 1
          or redis.call('HGET', claims, segment) == 'dropped' then
        return {'orphaned', whole(now), '0'}
      end
      if running(parent) then return {'unplanned', whole(now), '0'} end
      if redis.call('EXISTS', event) == 0 then create('running') end
      redis.call('SADD', stragglers, segment)
      try('HINCRBY', event, 'stragglers', 1)
      count('stragglers', 1)
      try('HINCRBY', event, 'waiting', ARGV[10])
    end
    -- It is planned now, and nobody asks for its parent any more.
    local answer = claim(event, settled, claims, stragglers, segment, owner, ARGV[8], ARGV[5],
      ARGV[11], '')
    keep()
    return answer
    """
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
        segment.id, claim.owner, Self.milliseconds(lifetime), segment.stragglers?.parent ?? "",
        String(segment.stragglers?.pushes.count ?? 0),
        segment.event.isExpired(at: now) ? "over" : "",
      ])
    try await handOver(segment.event.id, now: now)
    return try Self.result(reply)
  }
}
