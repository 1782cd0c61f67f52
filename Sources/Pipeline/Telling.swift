import Kafka
import Model
import Record
import Telemetry

extension Log {
  /// A line of librdkafka's.
  func kafka(_ line: KafkaLogLine) {
    let level: LogLevel =
      switch line.level {
      case .error: .error
      case .warning: .warning
      case .notice: .notice
      case .info: .info
      case .debug: .debug
      }
    log(level, "librdkafka: \(line.message)", ["facility": .text(line.facility)])
  }
}

extension WorkerCounters {
  /// Adds what became of a settled segment.
  func count(_ tally: SegmentTally, _ findings: PruneFindings) {
    add(.segmentsSettled)
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
