import Ingest
import Kafka
import Model
import Record
import Telemetry

/// Records what became of segments. Confined to its lane.
final class SegmentSettler {
  private let lane: LaneContext
  private let stragglers: Stragglers
  private let news: TokenNewsWriter

  init(_ lane: LaneContext, stragglers: Stragglers, news: TokenNewsWriter) {
    self.lane = lane
    self.stragglers = stragglers
    self.news = news
  }

  func settle(_ run: SegmentRun) async throws {
    let platforms = run.tally.platformsWithVerdicts
    if !run.tally.stragglers.isEmpty { try await stragglers.write(run) }
    let segment = run.segment
    try await news.settle(run)
    try await lane.outcomes.publish(run)
    var settlement = try await mark(run)
    while case .pending(let notes) = settlement {
      try await news.takeUp(notes, run)
      settlement = try await mark(run)
    }
    guard case .recorded(let settled) = settlement else {
      lane.counters.add(.segmentsAlreadySettled)
      return
    }
    lane.counters.count(run.tally)
    if settled.findings.pruneWithheld > 0 {
      lane.log.error(
        "a platform calls too many devices of this app gone: none of these is removed, and sending "
          + "goes on. devices.removal_share says how many are too many",
        .of(
          segment.event,
          [
            "topic": .text(run.tally.topic), "platforms": .text(platforms.joined(separator: ", ")),
            "tokens": .integer(settled.findings.pruneWithheld),
          ]))
    }
    if settled.findings.withheld > 0 {
      lane.log.error(
        "a platform calls tokens unusable and takes too few of the same topic and environment: "
          + "are both right? None was set aside",
        .of(
          segment.event,
          [
            "platforms": .text(platforms.joined(separator: ", ")),
            "tokens": .integer(settled.findings.withheld),
          ]))
    }
    if settled.findings.failed > 0 {
      lane.log.warning(
        "what platforms said of tokens is not all written: keys of users or tokens hold something "
          + "else",
        .of(segment.event, ["keys": .integer(settled.findings.failed)]))
    }
    lane.spans.settled(run)
    if let figures = settled.fanOut {
      try await lane.ended(
        segment.event, figures, rest: settled.isComplete ? .nothing : .isInDeadLetters)
    }
  }

  private func mark(_ run: SegmentRun) async throws -> Settlement {
    try await lane.retry.persistent("write counters to Redis", for: run.segment.event) {
      try await lane.record.settle(
        run.segment, run.tally, stragglers: run.written, owner: run.claim.owner,
        now: lane.now)
    }
  }

  /// Counts what was sent of a segment whose rest cannot be, and writes what platforms said of its
  /// tokens.
  func settlePart(_ run: SegmentRun) async {
    // Whatever may be wrong with the rest of it.
    do {
      try await lane.outcomes.publish(run)
    } catch {
      // Another worker does all of it, and tells of it.
      return
    }
    do {
      try await lane.retry.persistent("write verdicts on tokens to Redis", for: run.segment.event) {
        try await lane.record.prune(run.segment, run.tally, now: lane.now)
      }
      try await news.settlePart(run)
    } catch is RetryUntilStopped.Stopped {
      // Another worker does all of it, and counts it.
      return
    } catch {
      lane.log.warning(
        "what platforms said of a segment's tokens is not written", ["error": .text("\(error)")])
    }
    do {
      try await lane.retry.persistent("write counters to Redis", for: run.segment.event) {
        try await lane.record.countPart(
          of: run.segment, run.tally, owner: run.claim.owner, now: lane.now)
      }
      lane.counters.countPushes(run.tally)
      lane.spans.settled(run, failure: "the rest of it goes to the dead letters")
    } catch {
      lane.log.warning("what was sent of a segment is not counted", ["error": .text("\(error)")])
    }
  }

  /// Drops the pushes that a failed run has written: nobody may send them.
  func drop(_ run: SegmentRun) async {
    do {
      try await lane.record.drop(run.written.map(\.id), of: run.segment.event)
    } catch {
      lane.log.warning("stragglers not dropped", ["error": .text("\(error)")])
    }
  }
}

extension WorkerCounters {
  /// Adds what became of a settled segment.
  func count(_ tally: SegmentTally) {
    add(.segmentsSettled)
    if tally.isUnread { add(.segmentsUnread) }
    countPushes(tally)
  }

  func countPushes(_ tally: SegmentTally) {
    add(.recipients, tally.recipients)
    add(.skipped, tally.skipped)
    add(.unknownZones, tally.unknownZones)
    add(.unknownLocales, tally.unknownLocales)
    add(.pushesAccepted, tally.accepted)
    add(.pushesExpired, tally.expired)
    add(.pushesCancelled, tally.cancelled)
    add(.pushesSuppressed, tally.suppressed)
    for (rule, count) in tally.suppressions.byRule { add(Self.counter(of: rule), count) }
    add(.retries, tally.retried)
    for (reason, count) in tally.rejections { addRejected(reason: reason.index, count) }
    add(.tokensPruned, tally.findings.pruned)
    add(.tokensPruneRefused, tally.findings.refused)
    add(.tokensPruneUndated, tally.findings.undated)
    add(.tokensPruneWithheld, tally.findings.pruneWithheld)
    add(.tokensQuarantined, tally.findings.quarantined)
    add(.tokensQuarantineWithheld, tally.findings.withheld)
  }

  static func counter(of rule: SuppressionRule) -> WorkerCounter {
    switch rule {
    case .muted: .suppressedMuted
    case .quiet: .suppressedQuiet
    case .cap: .suppressedCap
    case .device: .suppressedDevice
    }
  }
}
