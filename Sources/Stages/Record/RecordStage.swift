import Keyspace
import Model
import Redis

/// Writes what became of a fan-out: marks that make redelivery harmless, counters that are exact
/// per fan-out, and the tokens that Apple condemned taken out of Redis. Confined to one lane.
///
/// Every call may be repeated after a transient error: the scripts find their own marks.
package final class RecordStage {
  let redis: RedisClient
  let keyspace: Keyspace
  let options: RecordOptions

  package init(redis: RedisClient, keyspace: Keyspace, options: RecordOptions = RecordOptions()) {
    self.redis = redis
    self.keyspace = keyspace
    self.options = options
  }

  /// Opens the fan-out of an event, or says why not. `source` is the record's
  /// `topic/partition/offset`: the same source again is a redelivery, another one a duplicate.
  /// `now` is in ms since 1970.
  package func open(
    event: Event, audience: Audience, source: String, now: Int64
  ) async throws(RecordError) -> Opening {
    let reply = try await run(
      RecordScripts.open, event, now: now,
      arguments: [source, String(audience.segmentCount), Plan.text(audience)])
    switch reply[0].text {
    case "new": return .new
    case "duplicate": return .duplicate
    case "finished": return .finished
    case "resumed":
      guard let plan = Plan.audience(reply[1].text ?? "", segments: reply[2].text ?? "") else {
        throw .badContent(
          "\(keyspace.event(id: event.id)) has no usable plan (fields plan and segments): "
            + "DEL it to fan the event out anew")
      }
      return .resumed(plan: plan)
    default: throw .unexpected(reply.kind, from: "the script that opens an event")
    }
  }

  /// Settles an event that was stale when it was read. Safe to repeat; the rules for duplicates
  /// are those of `open`. An event that is running becomes `expired` too; its segments may still
  /// be recorded.
  package func expire(
    event: Event, source: String, now: Int64
  ) async throws(RecordError) -> Expiry {
    let reply = try await run(RecordScripts.expire, event, now: now, arguments: [source])
    switch reply[0].text {
    case "expired": return .recorded
    case "finished": return .alreadyRecorded
    case "duplicate": return .duplicate
    default: throw .unexpected(reply.kind, from: "the script that expires an event")
    }
  }

  package func isSettled(_ segment: Segment) async throws(RecordError) -> Bool {
    try await areSettled([segment]) == [true]
  }

  /// For each segment, all of one event, whether it is settled; one round trip.
  package func areSettled(_ segments: [Segment]) async throws(RecordError) -> [Bool] {
    guard let event = segments.first?.event.id else { return [] }
    precondition(segments.allSatisfy { $0.event.id == event }, "segments of one event are asked")
    let key = keyspace.settled(id: event)
    let reply = try await execute(["SMISMEMBER", key] + segments.map(\.id))
    guard reply.count == segments.count else {
      throw .unexpected(reply.kind, from: "SMISMEMBER \(key)")
    }
    return (0..<segments.count).map { reply[$0].integer == 1 }
  }

  /// Records a settled segment: its mark, its counters, its verdicts, in one script; more verdicts
  /// than `verdictsPerScript` are written by scripts before it. After a transient error repeat it
  /// with the same tally: what was written is not written twice.
  package func settle(
    _ segment: Segment, _ tally: SegmentTally, now: Int64
  ) async throws(RecordError) -> Settlement {
    let before = try await prune(segment, tally, leaving: options.verdictsPerScript, now: now)
    let (verdicts, withheld) = admissible(tally.verdicts[...], of: tally)
    var counters = Self.counters(of: tally)
    if before.withheld + withheld > 0 {
      counters.append(("quarantine_withheld", before.withheld + withheld))
    }
    var arguments = [
      segment.id, String(segment.count), String(tally.firstPushAt), String(tally.lastPushAt),
      String(counters.count),
    ]
    for (name, count) in counters { arguments += [name, String(count)] }
    let reply = try await run(
      RecordScripts.settle, segment.event, now: now, arguments: arguments, verdicts: verdicts)
    switch reply[0].text {
    case "already": return .alreadySettled
    case "recorded":
      var findings = before
      findings.add(Self.findings(reply, from: 2))
      findings.withheld += withheld
      return .recorded(
        SettledSegment(
          fanOutDone: Int(reply[1].integer ?? 0) == 1, findings: findings,
          recordErrors: Int(reply[5].integer ?? 0)))
    default: throw .unexpected(reply.kind, from: "the script that settles a segment")
    }
  }

  /// Writes the verdicts gathered so far but the last `leaving` and takes them out of the tally: a
  /// very large segment calls it now and then so that its memory stays bounded. `settle` does the
  /// rest.
  package func prune(
    _ segment: Segment, _ tally: SegmentTally, leaving rest: Int = 0, now: Int64
  ) async throws(RecordError) -> PruneFindings {
    var findings = PruneFindings()
    while tally.verdicts.count > rest {
      let taken = min(options.verdictsPerScript, tally.verdicts.count - rest)
      let (verdicts, withheld) = admissible(tally.verdicts.prefix(taken), of: tally)
      if !verdicts.isEmpty {
        let reply = try await run(
          RecordScripts.prune, segment.event, now: now, arguments: [], verdicts: verdicts)
        findings.add(Self.findings(reply, from: 1))
      }
      findings.withheld += withheld
      tally.verdicts.removeFirst(taken)
    }
    return findings
  }

  /// The event's hash; nil when there is none (unknown, or older than its lifetime).
  package func status(of event: String) async throws(RecordError) -> FanOutStatus? {
    let key = keyspace.event(id: event)
    let reply = try await execute(["HGETALL", key])
    guard reply.count > 0 else { return nil }
    return FanOutStatus(fields: reply.dictionary ?? [:])
  }
}

// MARK: - Verdicts and counters

extension RecordStage {
  /// The verdicts that may be written: without those on unusable tokens when there are so many of
  /// them that our own configuration must be wrong.
  private func admissible(
    _ verdicts: ArraySlice<TokenVerdict>, of tally: SegmentTally
  ) -> (verdicts: [TokenVerdict], withheld: Int) {
    let refusals =
      tally.rejected[Int(RejectionReason.badDeviceToken.rawValue)]
      + tally.rejected[Int(RejectionReason.deviceTokenNotForTopic.rawValue)]
    let unusable = max(refusals, tally.verdicts.count { $0.finding.isUnusable })
    let answered = tally.accepted + tally.rejected.reduce(0, +)
    guard unusable >= options.unusableMinimum,
      Double(unusable) > options.unusableShare * Double(answered)
    else { return (Array(verdicts), 0) }
    let kept = verdicts.filter { !$0.finding.isUnusable }
    return (kept, verdicts.count - kept.count)
  }

  private static func counters(of tally: SegmentTally) -> [(String, Int)] {
    var counters = [
      ("recipients", tally.recipients), ("pushes", tally.pushes), ("accepted", tally.accepted),
      ("expired", tally.expired), ("cancelled", tally.cancelled),
      ("suppressed", tally.suppressed), ("retried", tally.retried), ("skipped", tally.skipped),
    ]
    for (reason, count) in tally.rejections { counters.append(("rejected:\(reason.name)", count)) }
    return counters.filter { $0.1 != 0 }
  }

  private static func findings(_ reply: RedisReply, from index: Int) -> PruneFindings {
    var findings = PruneFindings()
    findings.pruned = Int(reply[index].integer ?? 0)
    findings.refused = Int(reply[index + 1].integer ?? 0)
    findings.quarantined = Int(reply[index + 2].integer ?? 0)
    return findings
  }
}

extension TokenVerdict.Finding {
  fileprivate var isUnusable: Bool {
    switch self {
    case .gone: false
    case .unusable: true
    }
  }
}
