import Ingest
import Kafka
import Model
import Record
import Telemetry

/// Publishes what became of fan-outs and of pushes, for the backend's own analytics: records on a
/// topic of their own, on all replicas in sync before the segment settles. While Kafka takes none,
/// segments wait, until their event has expired: a topic that is missing must not keep pushes
/// waiting for ever. Without a topic it does nothing. Confined to its lane.
final class OutcomeWriter {
  /// Records in flight of one segment: some 150 KB.
  private static let window = 512

  /// It owns the writer.
  private unowned let lane: LaneContext

  init(_ lane: LaneContext) { self.lane = lane }

  /// Where the outcomes of a segment's pushes gather; nil where nobody reads them.
  func reports(of segment: Segment) -> OutcomeReports? {
    guard lane.options.ingest.outcomesTopic != nil, lane.options.outcomeShare > 0 else {
      return nil
    }
    return OutcomeReports(
      event: segment.event.id, share: lane.options.outcomeShare, now: lane.options.wallClock)
  }

  /// Publishes the outcomes that the segment has so far, if they are `count` or more.
  func publish(_ run: SegmentRun, from count: Int = 1) async throws {
    guard let reports = run.tally.reports, reports.all.count >= count,
      let topic = lane.options.ingest.outcomesTopic
    else { return }
    let event = run.segment.event
    let (all, bytes) = (reports.all, reports.bytes)
    reports.removeAll()
    // While these are written others may come, which the next call publishes.
    for first in stride(from: 0, to: all.count, by: Self.window) {
      let some = all[first..<min(first + Self.window, all.count)]
      try await write(
        some.map { OutcomeRecord.encode($0, of: event, in: bytes) }, to: topic, of: event)
    }
  }

  /// Publishes what became of a fan-out that has come to its end. One that has not is none of ours
  /// to tell of.
  func publishEnd(of event: Event) async throws {
    guard let topic = lane.options.ingest.outcomesTopic else { return }
    do {
      let found = try await lane.retry.persistent(
        "read from Redis what became of a fan-out", for: event
      ) {
        try await lane.record.status(of: event.id)
      }
      guard let found, found.hasEnded else { return }
      let summary = FanOutSummary(
        event: event.id, streamer: found.streamer, template: found.template,
        state: found.state.rawValue,
        numbers: found.numbers, origin: event)
      try await write([summary.encode()], to: topic, of: event)
    } catch let error as RecordError {
      // The lane's Redis is closed: whoever reads the record again publishes it.
      guard !lane.timers.isStopped else { throw RetryUntilStopped.Stopped() }
      lose(1, event, "\(error)")
    }
  }

  private func write(
    _ records: [(key: [UInt8], value: [UInt8])], to topic: String, of event: Event
  ) async throws {
    do {
      try await lane.writer.publishAll(topic, records) {
        event.isExpired(at: lane.now)
      }
      lane.counters.add(.outcomes, records.count)
    } catch let error as KafkaError {
      lose(records.count, event, "\(error)")
    }
  }

  private func lose(_ count: Int, _ event: Event, _ error: String) {
    lane.counters.add(.outcomesLost, count)
    lane.log.error(
      "outcomes are given up: they cannot be published, and the event has expired",
      .of(event, ["records": .integer(count), "error": .text(error)]))
  }
}
