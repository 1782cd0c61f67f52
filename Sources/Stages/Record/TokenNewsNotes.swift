import Keyspace
import Model
import Redis

/// That nobody misses what became of tokens: what Apple said of a segment's tokens is noted under
/// the event's hash tag before the users' keys change, and stays noted until it was told. A segment
/// of which anything is noted does not settle. So whoever takes a segment over finds what a worker
/// that died has not told, and tells it, perhaps a second time.
///
/// Segments without verdicts cost one look inside the script that settles them.
extension RecordStage {
  static let noting = RedisScript([PackageResources.note_verdicts_lua])

  /// Notes verdicts that are about to be written. Returns what was noted, which is nothing where
  /// nobody is told; nil where another worker has settled the segment, and has heard all of this
  /// itself.
  func note(
    _ verdicts: [TokenVerdict], of segment: Segment, _ tally: SegmentTally, now: Int64
  ) async throws(RecordError) -> [VerdictNote]? {
    guard options.tellsTokens, !verdicts.isEmpty else { return [] }
    let at = tally.pendingChanges.notedAt ?? now
    tally.pendingChanges.notedAt = at
    let notes = verdicts.map { VerdictNote($0, at: at) }
    let reply = try await evaluate(
      Self.noting,
      keys: [keyspace.settled(id: segment.event.id), untoldKey(segment)],
      arguments: [
        "segment": segment.id, "lifetime_seconds": String(Keyspace.eventLifetimeSeconds),
      ], list: notes.map(\.text), isLasting: true)
    guard reply.integer == 1 else {
      tally.pendingChanges.notedAt = nil
      return nil
    }
    return notes
  }

  func untoldKey(_ segment: Segment) -> String {
    keyspace.untold(event: segment.event.id, segment: segment.id)
  }

  /// The notes of a segment, by whichever worker.
  package func notes(of segment: Segment) async throws(RecordError) -> [String] {
    let reply = try await execute(["SMEMBERS", untoldKey(segment)])
    return (0..<reply.count).compactMap { reply[$0].text }
  }

  /// Does once more what a worker that is gone has noted, and gathers it in `tally.pendingChanges`.
  ///
  /// Its work is known for as long as the users' verdicts live. Later nothing is done any more: the
  /// device may have been bound again, or restored. A token that is not bound is told then: Apple
  /// called it unusable, whoever took it out.
  package func takeUp(
    _ notes: [String], of segment: Segment, _ tally: SegmentTally, now: Int64
  ) async throws(RecordError) {
    let known = notes.compactMap { VerdictNote($0) }
    for start in stride(from: 0, to: known.count, by: options.verdictsAtOnce) {
      let some = Array(known[start..<min(start + options.verdictsAtOnce, known.count)])
      let fresh = some.filter { now - $0.at < Self.receiptMilliseconds }
      let (_, outcomes) = try await judge(
        fresh.map(\.verdict), source: Self.source(of: segment), now: now)
      tally.pendingChanges.add(fresh, outcomes, of: segment)
      let old = some.filter { now - $0.at >= Self.receiptMilliseconds }
      var found: [VerdictOutcome] = []
      for note in old {
        let bindings = keyspace.bindings(user: note.verdict.user)
        let reply = try await execute(["SISMEMBER", bindings, note.verdict.member])
        found.append(reply.integer == 0 ? .removed : .nothing)
      }
      tally.pendingChanges.add(old, found, of: segment)
    }
    // Notes that nobody can read are told to nobody.
    tally.pendingChanges.notes += notes.filter { VerdictNote($0) == nil }
  }

  /// Some seconds less than a receipt lives: clocks differ.
  private static let receiptMilliseconds = Int64(Keyspace.receiptLifetimeSeconds - 30) * 1000

  /// Removes notes whose changes are published.
  package func forget(_ notes: [String], of segment: Segment) async throws(RecordError) {
    guard !notes.isEmpty else { return }
    _ = try await execute(["SREM", untoldKey(segment)] + notes)
  }
}

extension PendingTokenChanges {
  mutating func add(_ notes: [VerdictNote], _ outcomes: [VerdictOutcome], of segment: Segment) {
    notedAt = nil
    for (note, outcome) in zip(notes, outcomes) {
      self.notes.append(note.text)
      let told: TokenNews? =
        switch outcome {
        case .nothing, .refused: nil
        case .removed: note.news(of: segment.event.id, isQuarantined: false)
        case .quarantined: note.news(of: segment.event.id, isQuarantined: true)
        }
      if let told { news.append(told) }
    }
  }
}

/// Apple's answer about a token, as it stands in Redis from before it is written until it is
/// published: a text of one line for each of its parts, none of which may hold a line break.
struct VerdictNote {
  let verdict: TokenVerdict
  /// Ms since 1970.
  let at: Int64

  init(_ verdict: TokenVerdict, at: Int64) {
    self.verdict = verdict
    self.at = at
  }

  var text: String {
    let (since, reason) =
      switch verdict.finding {
      case .gone(let since, let reason): (String(since), reason)
      case .unusable(let reason): ("", reason)
      }
    return [String(at), since, reason.name, verdict.user, verdict.member].joined(separator: "\n")
  }

  init?(_ text: String) {
    let parts = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 5, let at = Int64(parts[0]) else { return nil }
    let platform = (Destination(ofMember: parts[4]) ?? .production).platform
    let reason = RejectionReason(named: parts[2], of: platform)
    let finding: TokenVerdict.Finding
    if parts[1].isEmpty {
      finding = .unusable(reason)
    } else {
      guard let since = Int64(parts[1]) else { return nil }
      finding = .gone(since: since, reason: reason)
    }
    self.init(TokenVerdict(user: parts[3], member: parts[4], finding: finding), at: at)
  }

  /// nil: the member is none of ours, and nobody gets pushes on it.
  /// - Parameter isQuarantined: Apple called the device gone, and it was quarantined instead of
  ///   removed.
  func news(of event: String, isQuarantined: Bool) -> TokenNews? {
    guard let binding = Binding(member: verdict.member) else { return nil }
    return switch verdict.finding {
    case .gone(_, let reason) where isQuarantined:
      TokenNews(
        .quarantined, user: verdict.user, binding, reason: reason.name, event: event, at: at)
    case .gone(let since, let reason):
      TokenNews(
        .pruned(since: since), user: verdict.user, binding, reason: reason.name, event: event,
        at: at)
    case .unusable(let reason):
      TokenNews(
        .quarantined, user: verdict.user, binding, reason: reason.name, event: event, at: at)
    }
  }
}
