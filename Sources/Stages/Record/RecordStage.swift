import Keyspace
import Model
import Redis

/// Writes what became of a fan-out: marks that make redelivery harmless, counters that are exact
/// per fan-out, and the tokens that Apple calls gone or unusable taken out of Redis. Confined to
/// one lane.
///
/// Every call may be repeated after a transient error: the scripts find their own marks.
package final class RecordStage {
  let redis: RedisClient
  let keyspace: Keyspace
  let options: RecordOptions
  var unusableTokens: UnusableTokenJudge

  package init(redis: RedisClient, keyspace: Keyspace, options: RecordOptions = RecordOptions()) {
    self.redis = redis
    self.keyspace = keyspace
    self.options = options
    unusableTokens = UnusableTokenJudge(options)
  }

  /// Brings the scripts that every event needs to Redis before the first one comes.
  package func prepare() async {
    await redis.prepare([
      OpenScript.open, ClaimScripts.claim, RecordScripts.settle, SumScripts.add,
    ])
  }

  /// Settles an event that was stale when it was read. Safe to repeat; the rules for duplicates
  /// are those of `open`. An event that was opened before it expired is left alone: its segments
  /// count each of their pushes.
  package func expire(
    event: Event, source: String, now: Int64
  ) async throws(RecordError) -> Expiry {
    let reply = try await run(
      RecordScripts.expire, event, now: now, arguments: [source, String(event.expiresAt)])
    let expiry: Expiry
    switch reply[0].text {
    case "early":
      throw .clocksDisagree(
        over: event, ours: now, redis: Int64(reply[1].text ?? "") ?? 0)
    case "expired": expiry = .recorded
    case "begun": return .begun
    case "finished": expiry = .alreadyRecorded
    case "duplicate": expiry = .duplicate
    default: throw .unexpected(reply.kind, from: "the script that expires an event")
    }
    try await handOver(event.id, now: now)
    return expiry
  }

  /// How many of a large event's segments are noted to be in Kafka; nil when Redis knows nothing
  /// of the event.
  package func published(of event: Event) async throws(RecordError) -> Int? {
    let reply = try await execute(["HMGET", keyspace.event(id: event.id), "state", "published"])
    return reply[0].text == nil ? nil : Int(reply[1].text ?? "") ?? 0
  }

  /// Notes that the first `count` segments of a large event are in Kafka: who takes the event up
  /// again writes the others only.
  package func published(
    _ count: Int, of event: Event, now: Int64
  ) async throws(RecordError) {
    _ = try await run(
      DeadLetterScripts.published, event, now: now, arguments: [String(count)])
  }

  /// Records a settled segment: its mark, its counters, its verdicts and the segments that its
  /// stragglers became, in one script; more verdicts than `verdictsPerScript` are written by
  /// scripts before it. Then the statistics are told. After a transient error repeat it with the
  /// same tally: what was written is not written twice.
  ///
  /// - Parameters:
  ///   - stragglers: the segments that hold what this one has left without an outcome; their
  ///     records are written already.
  ///   - owner: of the segment's claim: a call that is repeated because its reply was lost gets the
  ///     same answer.
  package func settle(
    _ segment: Segment, _ tally: SegmentTally, stragglers: [PlannedStragglers] = [],
    owner: String = "", now: Int64
  ) async throws(RecordError) -> Settlement {
    let before = try await prune(segment, tally, leaving: options.verdictsPerScript, now: now)
    let (verdicts, withheld) = admissible(tally.verdicts[...], segment, tally, now: now)
    var counters = Self.counters(of: tally)
    let allWithheld = tally.withheld + withheld
    if allWithheld > 0 { counters.append(("quarantine_withheld", allWithheld)) }
    var arguments = [
      segment.id, String(segment.count), String(tally.firstPushAt), String(tally.lastPushAt),
      tally.obstacle ?? "", owner, String(Keyspace.receiptLifetimeSeconds),
      String(counters.count),
    ]
    for (name, count) in counters { arguments += [name, String(count)] }
    let waited = segment.stragglers?.pushes.count ?? 0
    arguments += [String(stragglers.count), String(waited)]
    for planned in stragglers { arguments += [planned.id, String(planned.pushes)] }
    let reply = try await run(
      RecordScripts.settle, segment.event, now: now, arguments: arguments, verdicts: verdicts)
    switch reply[0].text {
    case "already":
      try await add(reply[1], of: segment.event.id, now: now)
      return .alreadySettled
    case "recorded":
      let unsummed = try await add(reply[7], of: segment.event.id, now: now)
      var findings = before
      findings.add(Self.findings(reply, from: 2))
      findings.withheld = allWithheld
      let end = reply[1].integer ?? 0
      return .recorded(
        SettledSegment(
          fanOut: end > 0 ? Self.outcomes(reply[6]) : nil, isComplete: end != 2,
          findings: findings,
          recordErrors: Int(reply[5].integer ?? 0) + unsummed))
    default: throw .unexpected(reply.kind, from: "the script that settles a segment")
    }
  }

  /// Writes the verdicts gathered so far but the last `leaving` and takes them out of the tally: a
  /// very large segment calls it now and then so that its memory stays bounded. `settle` does the
  /// rest.
  @discardableResult
  package func prune(
    _ segment: Segment, _ tally: SegmentTally, leaving rest: Int = 0, now: Int64
  ) async throws(RecordError) -> PruneFindings {
    var findings = PruneFindings()
    while tally.verdicts.count > rest {
      let taken = min(options.verdictsPerScript, tally.verdicts.count - rest)
      let (verdicts, withheld) = admissible(
        tally.verdicts.prefix(taken), segment, tally, now: now)
      if !verdicts.isEmpty {
        let reply = try await run(
          PruneScript.prune, segment.event, now: now, arguments: [], verdicts: verdicts)
        let found = Self.findings(reply, from: 1)
        findings.add(found)
        tally.pruneRefused += found.refused
      }
      tally.withheld += withheld
      tally.dropVerdicts(taken)
    }
    return findings
  }

  /// Writes verdicts when a segment has gathered more than a few scripts' worth of them.
  package func pruneSurplus(
    _ segment: Segment, _ tally: SegmentTally, now: Int64
  ) async throws(RecordError) -> PruneFindings {
    guard tally.verdicts.count >= 4 * options.verdictsPerScript else { return PruneFindings() }
    return try await prune(segment, tally, now: now)
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
  /// The verdicts that may be written: without those on unusable tokens while what Apple took of
  /// the same app and environment does not show that our own configuration is right.
  private func admissible(
    _ verdicts: ArraySlice<TokenVerdict>, _ segment: Segment, _ tally: SegmentTally, now: Int64
  ) -> (verdicts: [TokenVerdict], withheld: Int) {
    unusableTokens.hear(of: tally, topic: segment.event.app, now: now)
    let kept = verdicts.filter { verdict in
      guard verdict.finding.isUnusable else { return true }
      return unusableTokens.maySetAside(verdict, topic: segment.event.app)
    }
    return (kept, verdicts.count - kept.count)
  }

  static func counters(of tally: SegmentTally) -> [(String, Int)] {
    var counters = [
      ("recipients", tally.recipients), ("pushes", tally.pushes), ("accepted", tally.accepted),
      ("expired", tally.expired), ("cancelled", tally.cancelled),
      ("suppressed", tally.suppressed), ("retried", tally.retried), ("skipped", tally.skipped),
      ("rejected", tally.rejections.reduce(0) { $0 + $1.count }),
      ("prune_refused", tally.pruneRefused),
    ]
    for (reason, count) in tally.rejections { counters.append(("rejected:\(reason.name)", count)) }
    for (rule, count) in tally.suppressions.byRule {
      counters.append(("suppressed:\(rule.name)", count))
    }
    return counters.filter { $0.1 != 0 }
  }

  static func outcomes(_ reply: RedisReply) -> [FanOutFigure] {
    stride(from: 0, to: reply.count - 1, by: 2).map {
      FanOutFigure(name: reply[$0].text ?? "", count: Int(reply[$0 + 1].text ?? "") ?? 0)
    }
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
