import Model
import Record

extension RecordStage {
  /// Claims a segment whose event has not expired.
  func claim(_ claim: Claim, lifetime: Duration) async throws(RecordError) -> ClaimResult {
    try await self.claim(claim, lifetime: lifetime, now: claim.segment.event.occurredAt)
  }

  /// Opens the fan-out of an event of any number of segments without a claim.
  func open(
    event: Event, audience: Audience, source: String, replayed: String? = nil, now: Int64
  ) async throws(RecordError) -> OpenResult {
    let refusal = try await register(event)
    return try await open(
      event: event, audience: audience, source: source, replayed: replayed, refusal: refusal,
      claim: nil, lifetime: .zero, now: now
    ).result
  }
}
