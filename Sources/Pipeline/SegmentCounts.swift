import Model
import Record
import Telemetry

extension WorkerCounters {
  /// Adds what became of a settled segment.
  func count(_ tally: SegmentTally, _ findings: PruneFindings) {
    add(.segmentsSettled)
    countPushes(tally, findings)
  }

  func countPushes(_ tally: SegmentTally, _ findings: PruneFindings) {
    add(.recipients, tally.recipients)
    add(.skipped, tally.skipped)
    add(.pushesAccepted, tally.accepted)
    add(.pushesExpired, tally.expired)
    add(.pushesCancelled, tally.cancelled)
    add(.pushesSuppressed, tally.suppressed)
    add(.retries, tally.retried)
    for (reason, count) in tally.rejections { addRejected(reason: reason.rawValue, count) }
    add(.tokensPruned, findings.pruned)
    add(.tokensPruneRefused, findings.refused)
    add(.tokensQuarantined, findings.quarantined)
  }
}
