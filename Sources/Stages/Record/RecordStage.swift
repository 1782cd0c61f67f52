import Keyspace
import Model
import Redis
import Text

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
  /// - Parameters:
  ///   - replayed: as for `open`; only of an event that is scheduled does it count.
  ///   - released: as for `open`.
  package func expire(
    event: Event, source: String, replayed: String? = nil, released: String? = nil, now: Int64
  ) async throws(RecordError) -> Expiry {
    let reply = try await run(
      RecordScripts.expire, event, keys: [keyspace.document(event: event.id)], now: now,
      arguments: [
        "source": source, "replayed": replayed ?? "", "released": released ?? "",
        "expires_ms": String(event.expiresAt),
      ])
    let expiry: Expiry
    switch reply[0].text {
    case "early":
      throw .clocksDisagree(over: event, ours: now, redis: Int64(reply[1].text ?? "") ?? 0)
    case "expired": expiry = .recorded
    case "begun": return .begun
    case "waits": return .waits(try Self.due(reply[1]))
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
  package func published(_ count: Int, of event: Event, now: Int64) async throws(RecordError) {
    _ = try await run(
      DeadLetterScripts.published, event, now: now,
      arguments: ["published": String(count)])
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
    let arguments: ScriptArguments = [
      "segment": segment.id, "segments": String(segment.planned),
      "first_push_ms": String(tally.firstPushAt), "last_push_ms": String(tally.lastPushAt),
      "obstacle": tally.obstacle ?? "", "owner": owner,
      "receipt_seconds": String(Keyspace.receiptLifetimeSeconds),
      "counters": String(counters.count), "straggler_lists": String(stragglers.count),
      "waited": String(segment.stragglers?.pushes.count ?? 0),
    ]
    let list =
      counters.flatMap { [$0.0, String($0.1)] }
      + stragglers.flatMap { [$0.id, String($0.pushes)] }
    let untold =
      options.tellsTokens ? untoldKey(segment) : keyspace.event(id: segment.event.id)
    let notes = notes(of: tally, segment, known: 8)
    let reply = try await run(
      RecordScripts.settle, segment.event, keys: [untold] + notes.keys, now: now,
      arguments: arguments + Self.removals(of: tally) + notes.arguments, list: list + notes.list)
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
      (.unread, tally.isUnread ? 1 : 0),
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

/// The result of `RecordStage.expire` for a stale event.
package enum Expiry: Sendable, Equatable {
  case recorded
  case alreadyRecorded
  /// It had been opened before: open it again and go on, so that what is left of it is counted.
  case begun
  /// Another record brought the same id before: drop it.
  case duplicate
  /// It is scheduled, and due at this time, in ms since 1970: it was put off meanwhile.
  case waits(Int64)
}

/// The result of settling a segment.
package enum Settlement: Sendable, Equatable {
  case recorded(SettledSegment)
  /// Another run has recorded this segment: it is settled all the same.
  case alreadySettled
  /// Changes of its tokens are noted that are not published yet: `takeUp` these notes, publish
  /// them, forget them, and settle again.
  case pending([String])
}

/// A segment that holds what another one left without an outcome.
package struct PlannedStragglers: Sendable, Equatable {
  package let id: String
  package let pushes: Int

  package init(_ segment: Segment) {
    id = segment.id
    pushes = segment.stragglers?.pushes.count ?? 0
  }
}

package struct SettledSegment: Sendable, Equatable {
  /// It was the last one: what became of the whole fan-out.
  package let fanOut: [FanOutFigure]?
  /// No segment of it is in the dead letters; `done` instead of `incomplete`.
  package var isComplete = true
  /// Of the whole segment.
  package let findings: PruneFindings
  /// Counters that Redis did not take (overflow, a key of another type); the rest was recorded.
  package let recordErrors: Int
}

extension RecordStage {
  /// Redis' clock, which all workers share, in ms since 1970.
  package func time() async throws(RecordError) -> Int64 {
    let reply = try await execute(["TIME"])
    guard reply.count == 2, let seconds = Int64(reply[0].text ?? ""),
      let microseconds = Int64(reply[1].text ?? ""), (0..<1_000_000).contains(microseconds),
      Timestamp.range.contains(seconds), Timestamp.range.contains(seconds * 1000)
    else { throw .unexpected(reply.kind, from: "TIME") }
    return seconds * 1000 + microseconds / 1000
  }
}

extension RecordStage {
  /// Writes the fields of `ff:worker:<id>` for dashboards, which vanish when the worker beats no
  /// more, and the time into `ff:workers`. Returns the instance whose fields these took the place
  /// of: nil for the first beat.
  /// - Parameter now: ms since 1970.
  @discardableResult
  package func heartbeat(
    worker: String, instance: String, _ fields: [(name: String, value: String)], now: Int64
  ) async throws(RecordError) -> String? {
    let key = keyspace.worker(id: worker)
    let pipeline = RedisPipeline()
    pipeline.append(["HGET", key, "instance"])
    pipeline.append(["HSET", key, "instance", instance] + fields.flatMap { [$0.name, $0.value] })
    pipeline.append(["EXPIRE", key, String(Keyspace.workerLifetimeSeconds)])
    pipeline.append(["HSET", keyspace.workers, worker, String(now)])
    pipeline.append(["EXPIRE", keyspace.workers, String(Keyspace.workersLifetimeSeconds)])
    return try await execute(pipeline, to: ["HSET", key]).text
  }

  /// Takes a worker that stops in good order out of `ff:workers`.
  package func forget(worker: String) async throws(RecordError) {
    _ = try await execute(["HDEL", keyspace.workers, worker])
  }

  /// Takes workers that died long ago out of `ff:workers`. One worker does it for all.
  package func forgetDeadWorkers(now: Int64) async throws(RecordError) {
    let beats = try await execute(["HGETALL", keyspace.workers])
    let oldest = now - Int64(Keyspace.workersLifetimeSeconds) * 1000
    var dead: [String] = []
    for index in stride(from: 0, to: beats.count - 1, by: 2) {
      guard let worker = beats[index].text else { continue }
      if beats[index + 1].decimal ?? 0 < oldest { dead.append(worker) }
    }
    if !dead.isEmpty { _ = try await execute(["HDEL", keyspace.workers] + dead) }
  }
}

/// Fan-outs that are running although their event is over and nobody works on them: the records of
/// what is left are lost, in whatever way.
extension RecordStage {
  /// So many fan-outs are asked about at a time.
  private static let overduePage = 1000

  /// To be called again and again; the answers build on each other.
  /// - Parameters:
  ///   - wait: for how long nothing must have happened to a fan-out whose event is over.
  ///   - gap: how far apart two calls, of whichever worker, may be.
  package func overdueFanOuts(
    after wait: Duration, lookedAtEvery gap: Duration
  ) async throws(RecordError) -> [KnownFanOut] {
    let events = try await begunLast(atMost: Keyspace.statsEventsMaximumEntries)
    var overdue: [KnownFanOut] = []
    for first in stride(from: 0, to: events.count, by: Self.overduePage) {
      let page = Array(events[first..<min(first + Self.overduePage, events.count)])
      let replies = try await ask(ofEach: page) { ["HGET", $0, "state"] }
      for (index, event) in page.enumerated()
      where replies[index].text == FanOutStatus.State.running.rawValue {
        do throws(RecordError) {
          guard try await isOverdue(event, wait, gap), let status = try await status(of: event)
          else { continue }
          overdue.append(KnownFanOut(event: event, status: status))
        } catch {
          // Keys of one event that hold something else must not keep the others running.
          if error.isTransient { throw error }
        }
      }
    }
    return overdue
  }

  private func isOverdue(
    _ event: String, _ wait: Duration, _ gap: Duration
  ) async throws(RecordError) -> Bool {
    let reply = try await evaluate(
      ClaimScripts.overdue,
      keys: [
        keyspace.event(id: event), keyspace.settled(id: event), keyspace.claims(id: event),
      ],
      arguments: ["wait_ms": Self.milliseconds(wait), "gap_ms": Self.milliseconds(gap)])
    return reply.integer == 1
  }
}

/// Watches how much Apple takes and refuses of each topic and environment, as one lane sees it over
/// time: a pure machine.
///
/// It decides whether tokens that Apple calls unusable may be quarantined. A wrong environment or
/// app makes Apple refuse every token of it, in many small fan-outs as well as in a large one, so
/// Apple's answers for the same topic and environment count, not the number of tokens of one
/// segment that it refuses. Whether tokens may be removed that Apple calls gone is decided for all
/// lanes together (`RemovalScript`); this lane reports the answers that it has seen with them.
struct TokenRemovalJudge: Sendable, Equatable {
  private struct Place: Hashable {
    let topic: String
    let destination: Destination
  }

  private struct Evidence: Equatable {
    var accepted = 0
    var unusable = 0
    /// Accepted, and not reported beside removals.
    var unreported = 0
    /// Ms since 1970 of the last halving.
    var since: Int64
  }

  /// Older answers count half, and so on: a configuration that was right yesterday shows little.
  static let halfLifeMilliseconds: Int64 = 10 * 60 * 1000
  /// Topics times environments at most; the least watched one goes.
  static let maximumPlaces = 256
  /// Accepted pushes of other segments that are reported beside removals of one that has too few
  /// answers of its own: they must not cover for a wave.
  static let borrowedMaximum = 20

  private let ratio: Int
  private let minimum: Int
  private let samples: Int
  private var places: [Place: Evidence] = [:]

  init(_ options: RecordOptions) {
    ratio = options.acceptedForEachUnusable
    minimum = options.acceptedMinimum
    samples = options.removalSamples
  }

  /// Takes in what a tally has gathered since it was heard of last.
  mutating func hear(of tally: SegmentTally, topic: String, now: Int64) {
    for destination in Destination.all {
      let (accepted, unusable) = tally.takeEvidence(of: destination)
      guard accepted > 0 || unusable > 0 else { continue }
      let place = Place(topic: topic, destination: destination)
      var evidence = places[place] ?? Evidence(since: now)
      if now - evidence.since > Self.halfLifeMilliseconds || now < evidence.since {
        evidence = Evidence(
          accepted: evidence.accepted / 2, unusable: evidence.unusable / 2,
          unreported: evidence.unreported / 2, since: now)
      }
      evidence.accepted += accepted
      evidence.unreported += accepted
      evidence.unusable += unusable
      places[place] = evidence
      makeRoom()
    }
  }

  /// Decides what may be done of a tally's verdicts, and what Redis is to be asked. The accepted
  /// pushes that the questions report count beside no other removal.
  mutating func admission(of tally: SegmentTally, topic: String) -> VerdictAdmission {
    var questions: [VerdictAdmission.Question] = []
    for destination in Destination.all {
      let removals = tally.verdicts.count {
        !$0.finding.isUnusable && $0.destination == destination
      }
      guard removals > 0 else { continue }
      let answers = takeAnswers(of: tally, topic: topic, destination, removals: removals)
      questions.append(.init(destination, removals: removals, answers: answers))
    }
    return VerdictAdmission(tally.verdicts, questions: questions) {
      mayQuarantine($0, topic: topic)
    }
  }

  func mayQuarantine(_ verdict: TokenVerdict, topic: String) -> Bool {
    let place = Place(topic: topic, destination: verdict.destination)
    guard let evidence = places[place] else { return false }
    return evidence.accepted >= max(minimum, ratio * evidence.unusable)
  }

  /// Answers to report with so many that would remove a device, these among them: the segment's
  /// own, and where they are too few to have a share, some of others.
  private mutating func takeAnswers(
    of tally: SegmentTally, topic: String, _ destination: Destination, removals: Int
  ) -> Int {
    let place = Place(topic: topic, destination: destination)
    let accepted = tally.takeAccepted(of: destination)
    let others = max(0, (places[place]?.unreported ?? 0) - accepted)
    places[place]?.unreported = 0
    let own = removals + accepted
    return own < samples ? own + min(others, Self.borrowedMaximum) : own
  }

  private mutating func makeRoom() {
    guard places.count > Self.maximumPlaces else { return }
    func rank(_ place: Place, _ evidence: Evidence) -> (Int, String, UInt8) {
      (evidence.accepted + evidence.unusable, place.topic, place.destination.index)
    }
    let least = places.min { rank($0.key, $0.value) < rank($1.key, $1.value) }
    if let least { places[least.key] = nil }
  }
}
