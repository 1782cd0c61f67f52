import Keyspace
import Record
import Redis
import Text

/// Reads single fan-outs while somebody looks at them. Confined to the loop of its client.
final class FanOutDetails {
  /// A segment on which a worker works.
  struct ClaimedSegment: Equatable {
    let segment: String
    let worker: String
    /// Since when this dashboard has seen it with this worker, in ms since 1970.
    let since: Int64
    /// When the claim ends unless it is renewed, in ms since 1970 by Redis' clock.
    let endsAt: Int64
  }

  struct Detail {
    let status: FanOutStatus
    let rate: CounterRate
    /// Those that were claimed first come first; nil: there are too many to be read.
    let claims: [ClaimedSegment]?
    /// The event as it was received; nil: it is not kept, or we may not read it.
    let document: [UInt8]?
  }

  private struct Owner {
    let name: String
    let since: Int64
  }

  private struct Kept {
    var document: [UInt8]?
    var owners: [ExactText: Owner] = [:]
  }

  private let keyspace: Keyspace
  private var kept: [ExactText: Kept] = [:]

  init(_ keyspace: Keyspace) { self.keyspace = keyspace }

  /// - Returns: of each event what there is; nil where Redis knows no such event.
  func refresh(
    _ events: [String], _ questions: inout DashboardQuestions, _ cache: FanOutCache, now: Int64
  ) async throws(RedisError) -> [Detail?] {
    let watched = Set(events.map { ExactText($0) })
    kept = kept.filter { watched.contains($0.key) }
    let hashes = try await questions.hashes(
      events.map { keyspace.event(id: $0) } + events.map { keyspace.claims(id: $0) })
    try await readDocuments(events, &questions)
    var details: [Detail?] = []
    for (index, event) in events.enumerated() {
      guard let fields = hashes[index] else {
        details.append(nil)
        continue
      }
      let status = FanOutStatus(fields: fields)
      let name = ExactText(event)
      let claims = claims(hashes[events.count + index] ?? [:], of: name, now: now)
      details.append(
        Detail(
          status: status, rate: cache.note(status, of: event, now: now), claims: claims,
          document: kept[name]?.document))
    }
    return details
  }

  /// An event's document never changes: it is read until it is there.
  private func readDocuments(
    _ events: [String], _ questions: inout DashboardQuestions
  ) async throws(RedisError) {
    let missing = events.filter { kept[ExactText($0)]?.document == nil }
    guard !missing.isEmpty else { return }
    let replies = try await questions.ask(missing.map { ["GET", keyspace.document(event: $0)] })
    for (index, event) in missing.enumerated() {
      // A user of Redis for dashboards may read no document.
      kept[ExactText(event), default: Kept()].document = replies[index].bytes.map { Array($0) }
    }
  }

  private func claims(
    _ fields: [String: String], of event: ExactText, now: Int64
  ) -> [ClaimedSegment] {
    let known = kept[event]?.owners ?? [:]
    var owners: [ExactText: Owner] = [:]
    var claimed: [ClaimedSegment] = []
    for (segment, text) in fields {
      // One that was released ends at 0; one that has ended is a dead worker's.
      guard let (owner, endsAt) = Self.claim(text), endsAt > 0 else { continue }
      let name = ExactText(segment)
      let before = known[name].flatMap { $0.name.isExactly(owner) ? $0 : nil }
      let since = before?.since ?? now
      owners[name] = Owner(name: owner, since: since)
      let worker = owner.split(separator: "/").first.map(String.init) ?? owner
      claimed.append(
        ClaimedSegment(segment: segment, worker: worker, since: since, endsAt: endsAt))
    }
    kept[event, default: Kept()].owners = owners
    return claimed.sorted { ($0.since, $0.endsAt, $0.segment) < ($1.since, $1.endsAt, $1.segment) }
  }

  /// As `clock.lua` writes it: `<owner> <end>`, and in front whose place it took.
  private static func claim(_ text: String) -> (owner: String, endsAt: Int64)? {
    let own = text.split(separator: " > ").last ?? ""
    guard let space = own.lastIndex(of: " "), let end = Int64(own[own.index(after: space)...])
    else { return nil }
    return (String(own[..<space]), end)
  }
}
