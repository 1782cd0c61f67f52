import Model
import Telemetry

extension WorkerCounters {
  /// Adds what became of a settled segment.
  func count(_ tally: SegmentTally) {
    add(.segmentsSettled)
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
    for (reason, count) in tally.rejections { addRejected(reason: reason.rawValue, count) }
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
