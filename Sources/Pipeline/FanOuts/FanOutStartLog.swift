import Ingest
import Telemetry

/// Says once of each large fan-out that this worker has a part in it: its own, another's, or one
/// that was under way before a restart. Confined to the pump's loop.
final class FanOutStartLog {
  private let log: Log
  private var recent = RecentEvents()

  init(log: Log) { self.log = log }

  func begins(_ run: RunningRecords.Run) {
    guard run.kind == .segment || run.kind == .bulk,
      let event = SegmentRecord.event(ofKey: run.message.key),
      recent.isNew(event)
    else { return }
    log.info(
      "fan-out taken up: this worker has segments of it",
      ["event": .text(event), "first": .text(run.message.place)])
  }
}
