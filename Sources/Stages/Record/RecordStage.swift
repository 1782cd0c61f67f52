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
  var tokenJudge: TokenRemovalJudge

  package init(redis: RedisClient, keyspace: Keyspace, options: RecordOptions = RecordOptions()) {
    self.redis = redis
    self.keyspace = keyspace
    self.options = options
    tokenJudge = TokenRemovalJudge(options)
  }

  /// Brings the scripts that every event needs to Redis before the first one comes.
  package func prepare() async {
    await redis.prepare([
      StreamerScripts.register, OpenScript.open, ClaimScripts.claim, RecordScripts.settle,
      SumScripts.add,
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

  /// Records a settled segment: first its verdicts, by the users that they are on; then its mark,
  /// its counters and the segments that its stragglers became, in one script; then the statistics
  /// are told. After a transient error repeat it with the same tally: what was written is not
  /// written twice.
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
    try await prune(segment, tally, now: now)
    let counters = Self.counters(of: tally)
    var arguments = [
      segment.id, String(segment.count), String(tally.firstPushAt), String(tally.lastPushAt),
      tally.obstacle ?? "", owner, String(Keyspace.receiptLifetimeSeconds),
    ]
    arguments += Self.removals(of: tally) + [String(counters.count)]
    for (name, count) in counters { arguments += [name, String(count)] }
    let waited = segment.stragglers?.pushes.count ?? 0
    arguments += [String(stragglers.count), String(waited)]
    for planned in stragglers { arguments += [planned.id, String(planned.pushes)] }
    let untold =
      options.tellsTokens ? untoldKey(segment) : keyspace.event(id: segment.event.id)
    let notes = notes(of: tally, segment, known: 8)
    let reply = try await run(
      RecordScripts.settle, segment.event, keys: [untold] + notes.keys, now: now,
      arguments: arguments + notes.arguments)
    switch reply[0].text {
    case "untold": return .pending((1..<reply.count).compactMap { reply[$0].text })
    case "already":
      try await add(reply[1], of: segment.event.id, now: now)
      return .alreadySettled
    case "recorded":
      let unsummed = try await add(reply[4], of: segment.event.id, now: now)
      let end = reply[1].integer ?? 0
      return .recorded(
        SettledSegment(
          fanOut: end > 0 ? Self.outcomes(reply[3]) : nil, isComplete: end != 2,
          findings: tally.findings,
          recordErrors: tally.findings.failed + Int(reply[2].integer ?? 0) + unsummed))
    default: throw .unexpected(reply.kind, from: "the script that settles a segment")
    }
  }

  /// The event's hash; nil when there is none (unknown, or older than its lifetime).
  package func status(of event: String) async throws(RecordError) -> FanOutStatus? {
    let key = keyspace.event(id: event)
    let reply = try await execute(["HGETALL", key])
    guard reply.count > 0 else { return nil }
    return FanOutStatus(fields: reply.dictionary ?? [:])
  }
}

// MARK: - Counters

extension RecordStage {
  static func counters(of tally: SegmentTally) -> [(String, Int)] {
    let counted: [(FanOutCounter, Int)] = [
      (.recipients, tally.recipients), (.pushes, tally.pushes), (.accepted, tally.accepted),
      (.expired, tally.expired), (.cancelled, tally.cancelled),
      (.suppressed, tally.suppressed), (.retried, tally.retried), (.skipped, tally.skipped),
      (.rejected, tally.rejections.reduce(0) { $0 + $1.count }),
      (.pruneRefused, tally.findings.refused),
      (.pruneUndated, tally.findings.undated),
      (.pruneWithheld, tally.findings.pruneWithheld),
      (.quarantineWithheld, tally.findings.withheld),
      (.recordErrors, tally.findings.failed),
    ]
    var counters = counted.map { ($0.0.rawValue, $0.1) }
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
}
