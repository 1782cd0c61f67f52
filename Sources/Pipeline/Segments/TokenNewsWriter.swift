import Ingest
import Kafka
import Model
import Record
import Telemetry

/// Publishes to whoever keeps devices too what Apple said of them: records on a topic of their own,
/// on all replicas in sync before the segment settles. While Kafka takes none, segments with such
/// news wait, until their event has expired: a topic that is missing must not keep pushes waiting
/// for ever. Confined to its lane.
final class TokenNewsWriter {
  private let lane: LaneContext

  init(_ lane: LaneContext) { self.lane = lane }

  /// Publishes what the verdicts that were written so far have come to.
  func publish(_ run: SegmentRun) async throws {
    guard let topic = lane.options.ingest.tokensTopic, !run.tally.pendingChanges.isEmpty else {
      return
    }
    let pending = run.tally.pendingChanges
    do {
      let event = run.segment.event
      try await lane.writer.publishAll(topic, pending.news.map { TokenNewsRecord.encode($0) }) {
        event.isExpired(at: lane.now)
      }
      lane.counters.add(.tokenNews, pending.news.count)
    } catch let error as KafkaError {
      lane.log.error(
        "news of tokens are given up: Kafka takes none, and the event has expired",
        .of(
          run.segment.event,
          [
            "topic": .text(topic),
            "tokens": .integer(pending.news.count), "error": .text("\(error)"),
          ]))
    }
    let segment = run.segment
    try await lane.retry.persistent("take published token news out of Redis", for: segment.event) {
      try await lane.record.forget(pending.notes, of: segment)
    }
    run.tally.pendingChanges = PendingTokenChanges()
  }

  /// Writes the verdicts that are left, and publishes what they came to.
  func settle(_ run: SegmentRun) async throws {
    guard lane.options.ingest.tokensTopic != nil else { return }
    if !run.tally.verdicts.isEmpty {
      try await lane.retry.persistent("write verdicts on tokens to Redis", for: run.segment.event) {
        try await lane.record.prune(run.segment, run.tally, now: lane.now)
      }
    }
    try await publish(run)
  }

  /// Publishes what another worker has noted of the segment, and could not publish.
  func takeUp(_ notes: [String], _ run: SegmentRun) async throws {
    lane.log.notice(
      "token news that a worker left behind when it died are published",
      .of(run.segment.event, ["tokens": .integer(notes.count)]))
    try await lane.retry.persistent("write verdicts on tokens to Redis", for: run.segment.event) {
      try await lane.record.takeUp(notes, of: run.segment, run.tally, now: lane.now)
    }
    try await publish(run)
  }

  /// As `settle`, where the script that settles does not look: of a segment that goes to the dead
  /// letters.
  func settlePart(_ run: SegmentRun) async throws {
    guard lane.options.ingest.tokensTopic != nil else { return }
    try await settle(run)
    let notes = try await lane.retry.persistent(
      "read from Redis what was noted", for: run.segment.event
    ) {
      try await lane.record.notes(of: run.segment)
    }
    if !notes.isEmpty { try await takeUp(notes, run) }
  }
}
