import Ingest
import Kafka
import Model
import Record
import Telemetry

/// Tells whoever keeps devices too what Apple said of them: records on a topic of their own, on all
/// replicas in sync before the segment settles. While Kafka takes none, segments with such news
/// wait, until their event has expired: a topic that is missing must not keep pushes waiting for
/// ever. Confined to its lane.
final class TokenNewsWriter {
  private let lane: LaneContext

  init(_ lane: LaneContext) { self.lane = lane }

  /// Tells what the verdicts that were written so far have come to.
  func tell(_ run: SegmentRun) async throws {
    guard let topic = lane.options.ingest.tokensTopic, !run.tally.untold.isEmpty else { return }
    let untold = run.tally.untold
    do {
      let event = run.segment.event
      try await lane.writer.publishAll(topic, untold.news.map { TokenNewsRecord.encode($0) }) {
        event.isExpired(at: lane.now)
      }
      lane.counters.add(.tokenNews, untold.news.count)
    } catch let error as KafkaError {
      lane.log.error(
        "news of tokens are given up: Kafka takes none, and the event has expired",
        [
          "event": .text(run.segment.event.id), "topic": .text(topic),
          "tokens": .integer(untold.news.count), "error": .text("\(error)"),
        ])
    }
    let segment = run.segment
    try await lane.retry.persistent("take told news out of Redis", for: segment.event) {
      try await lane.record.forget(untold.notes, of: segment)
    }
    run.tally.untold = UntoldNews()
  }

  /// Writes the verdicts that are left, and tells what they came to.
  func settle(_ run: SegmentRun) async throws {
    guard lane.options.ingest.tokensTopic != nil else { return }
    if !run.tally.verdicts.isEmpty {
      try await lane.retry.persistent("write verdicts on tokens to Redis", for: run.segment.event) {
        try await lane.record.prune(run.segment, run.tally, now: lane.now)
      }
    }
    try await tell(run)
  }

  /// Tells what another worker has noted of the segment, and could not tell.
  func takeUp(_ notes: [String], _ run: SegmentRun) async throws {
    lane.log.notice(
      "token news that a worker left behind when it died are published",
      ["event": .text(run.segment.event.id), "tokens": .integer(notes.count)])
    try await lane.retry.persistent("write verdicts on tokens to Redis", for: run.segment.event) {
      try await lane.record.takeUp(notes, of: run.segment, run.tally, now: lane.now)
    }
    try await tell(run)
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
