import Keyspace
import Model
import Redis
import Text

/// A worker's word in Redis that it works on a segment, with an end.
package struct Claim: Sendable, Equatable {
  package let segment: Segment
  /// Names one run of the segment: another run in the same process is another owner, so that a
  /// segment never runs twice at once.
  package let owner: String

  /// No configuration allows a longer one.
  package static let longestLifetime: Duration = .seconds(5 * 60)

  package init(segment: Segment, owner: String) {
    self.segment = segment
    self.owner = owner
  }
}

extension RecordStage {
  /// Asks for the right to send a segment; the same owner may ask again. `lifetime` is how long the
  /// claim holds without being renewed.
  ///
  /// - Parameter now: ms since 1970; once the event has expired, also a paused one's segment may be
  ///   had.
  package func claim(
    _ claim: Claim, lifetime: Duration, now: Int64
  ) async throws(RecordError) -> ClaimResult {
    let segment = claim.segment
    let event = segment.event.id
    let reply = try await evaluate(
      ClaimScripts.claim,
      keys: [
        keyspace.event(id: event), keyspace.settled(id: event), keyspace.claims(id: event),
        keyspace.stragglers(id: event),
      ],
      arguments: [
        "segment": segment.id, "owner": claim.owner, "claim_ms": Self.milliseconds(lifetime),
        "lifetime_seconds": String(Keyspace.eventLifetimeSeconds),
        "over": segment.event.isExpired(at: now) ? "over" : "",
        "parent": segment.stragglers?.parent ?? "",
      ])
    let result = try Self.result(reply)
    // The worker that settled it may have died before it told the statistics.
    if result == .settled {
      try await keepSettled(event)
      try await handOver(event, now: now)
    }
    return result
  }

  /// The record is done with for good because of the mark, and whoever made it may not have lived
  /// to hear that replicas have it.
  private func keepSettled(_ event: String) async throws(RecordError) {
    guard redis.waitsForReplicas else { return }
    _ = try await evaluate(
      ClaimScripts.keepSettled, keys: [keyspace.settled(id: event)],
      arguments: ["lifetime_seconds": String(Keyspace.eventLifetimeSeconds)], isLasting: true)
  }

  static func result(_ reply: RedisReply) throws(RecordError) -> ClaimResult {
    let now = try time(reply[1])
    switch reply[0].text {
    case "yours":
      let former = reply[3].text ?? ""
      return .yours(
        redisTime: now, isCancelled: reply[2].text == Halt.cancelled.rawValue,
        takenFrom: former.isEmpty
          ? nil : FormerOwner(name: former, hasReleased: reply[4].text == "released"))
    case "paused": return .paused
    case "settled": return .settled
    case "unplanned": return .unplanned
    case "orphaned": return .orphaned
    case "claimed":
      return .claimed(milliseconds: max(max(Int64(reply[2].text ?? "") ?? now, now) - now, 1))
    default: throw .unexpected(reply.kind, from: "the script that claims a segment")
    }
  }

  /// Ms since 1970, up to the year 9999: it is calculated with.
  private static func time(_ reply: RedisReply) throws(RecordError) -> Int64 {
    guard let time = Int64(reply.text ?? ""), Timestamp.range.contains(time) else {
      throw .unexpected(reply.kind, from: "the script that claims a segment")
    }
    return time
  }

  /// Puts the end of claims off, all of one event; says of each what became of it.
  package func renew(_ claims: [Claim], lifetime: Duration) async throws(RecordError) -> [Renewal] {
    guard let event = claims.first?.segment.event.id else { return [] }
    precondition(claims.allSatisfy { $0.segment.event.id == event }, "claims of one event")
    let reply = try await evaluate(
      ClaimScripts.renew, keys: [keyspace.settled(id: event), keyspace.claims(id: event)],
      arguments: [
        "claim_ms": Self.milliseconds(lifetime),
        "lifetime_seconds": String(Keyspace.eventLifetimeSeconds),
      ], list: claims.flatMap { [$0.segment.id, $0.owner] })
    return try Self.renewals(reply, of: claims.count)
  }

  /// A reply that is no answer must not be taken for another worker's claim: pushes would be sent
  /// twice.
  static func renewals(_ reply: RedisReply, of count: Int) throws(RecordError) -> [Renewal] {
    let answers = (0..<reply.count).compactMap { Renewal(rawValue: reply[$0].text ?? "") }
    guard reply.count == count, answers.count == count else {
      throw .unexpected(reply.kind, from: "the script that renews claims")
    }
    return answers
  }

  /// Segments of stragglers that a run wrote before it failed: their pushes are another run's, or
  /// nobody's, and who reads them need not wait for them to be planned.
  package func drop(_ stragglers: [String], of event: Event) async throws(RecordError) {
    guard !stragglers.isEmpty else { return }
    _ = try await evaluate(
      ClaimScripts.drop, keys: [keyspace.claims(id: event.id)],
      arguments: ["lifetime_seconds": String(Keyspace.eventLifetimeSeconds)], list: stragglers)
  }

  /// Lets somebody else claim the segment at once.
  ///
  /// - Parameter hasSent: pushes of it may have been sent that are not recorded: who claims it next
  ///   is told whom it was taken from.
  package func release(_ claim: Claim, hasSent: Bool) async throws(RecordError) {
    _ = try await evaluate(
      ClaimScripts.release, keys: [keyspace.claims(id: claim.segment.event.id)],
      arguments: [
        "segment": claim.segment.id, "owner": claim.owner, "sent": hasSent ? "sent" : "",
      ])
  }

  static func milliseconds(_ duration: Duration) -> String { String(duration.wholeMilliseconds) }
}

/// The result of `RecordStage.renew`.
package enum Renewal: String, Sendable, CaseIterable {
  case held
  /// Somebody else has the claim by now.
  case another
  /// By this run, which may not have heard of it yet, or by another.
  case settled
}

/// The result of `RecordStage.claim`.
package enum ClaimResult: Sendable, Equatable {
  /// Nobody else works on it until the claim ends; `redisTime` in ms since 1970. A cancelled
  /// fan-out's pushes need no more than their outcomes. `takenFrom`: the owner, a dead worker for
  /// instance, whose claim on it has ended and was not settled, or who gave it up when pushes of it
  /// may have been sent. The same owner hears the same when it asks again.
  case yours(redisTime: Int64, isCancelled: Bool = false, takenFrom: FormerOwner? = nil)
  /// Its fan-out is paused: ask again later.
  case paused
  /// Somebody works on it; ask again after `milliseconds` at the latest.
  case claimed(milliseconds: Int64)
  case settled
  /// The segment that the stragglers left is not settled: ask again later.
  case unplanned
  /// The segment that the stragglers left was settled by a run that did not write this list, and
  /// gave its pushes their outcomes itself: drop it.
  case orphaned

  package var takenFrom: FormerOwner? {
    if case .yours(_, _, let former) = self { former } else { nil }
  }
}

/// A worker that began a segment and did not settle it.
package struct FormerOwner: Sendable, Equatable {
  package let name: String
  /// It gave the segment up itself, as a worker does that stops; otherwise it died, or stood still,
  /// and its claim ended.
  package let hasReleased: Bool

  package init(name: String, hasReleased: Bool) {
    self.name = name
    self.hasReleased = hasReleased
  }
}
