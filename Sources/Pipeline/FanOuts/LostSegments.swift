import Ingest
import Kafka
import Model
import Record
import Telemetry

/// Segments whose records Kafka threw away before anybody read them. What of them the event still
/// says is planned again: a record that was there all the same is claimed once. The others count as
/// lost, so that their fan-out comes to its end. Confined to its lane.
final class LostSegments {
  /// Fan-outs that are looked at, those that began last: far more than are under way at a time.
  private static let maximumFanOuts = 1000
  /// In one call of a script, and written to Kafka at a time.
  private static let window = 128

  private let options: PipelineOptions
  private let ingest: IngestStage
  private let record: RecordStage
  private let retry: RetryUntilStopped
  private let writer: RecordWriter
  private let endings: FanOutEndings

  init(
    options: PipelineOptions, ingest: IngestStage, record: RecordStage,
    retry: RetryUntilStopped, writer: RecordWriter, endings: FanOutEndings
  ) {
    self.options = options
    self.ingest = ingest
    self.record = record
    self.retry = retry
    self.writer = writer
    self.endings = endings
  }

  func recover(areStragglersLost: Bool, isolation: isolated any Actor = #isolation) async {
    do {
      let known = try await ask("read the fan-outs from Redis") {
        try await record.recentFanOuts(atMost: Self.maximumFanOuts)
      }
      for fanOut in known where fanOut.status.state == .running {
        try await recover(fanOut, areStragglersLost: areStragglersLost)
      }
    } catch is RetryUntilStopped.Stopped {
      return
    } catch {
      options.log.error("lost segments are not planned again", ["error": .text("\(error)")])
    }
  }

  private func recover(
    _ fanOut: KnownFanOut, areStragglersLost: Bool, isolation: isolated any Actor = #isolation
  ) async throws {
    let found = try await ask("read the open segments from Redis") {
      try await record.openSegments(of: fanOut)
    }
    guard let open = found else { return }
    // What waits for its turn in a list of its own is in no other record.
    var lost = areStragglersLost ? open.stragglers : []
    if let event = event(open.document) {
      try await plan(open, again: event)
    } else {
      lost += open.names
      if open.published > 0, open.published < open.count { lost.append("plan") }
    }
    for first in stride(from: 0, to: lost.count, by: Self.window) {
      let names = Array(lost[first..<min(first + Self.window, lost.count)])
      let figures = try await ask("note lost segments in Redis") {
        try await record.noteLost(names, of: fanOut, now: options.wallClock())
      }
      if let figures { endings.noteLost(fanOut.event, figures) }
    }
    if !lost.isEmpty {
      options.log.error(
        "segments are lost: Kafka no longer has their records",
        ["event": .text(fanOut.event), "segments": .integer(lost.count)])
    }
  }

  /// Nil where it cannot be sent any more.
  private func event(_ document: [UInt8]?) -> Event? {
    guard let document, let event = try? ingest.event(document: document),
      !event.isExpired(at: options.wallClock())
    else { return nil }
    return event
  }

  private func plan(
    _ open: OpenSegments, again event: Event, isolation: isolated any Actor = #isolation
  ) async throws {
    let plan = RemainingPlan(
      event: event, generation: open.generation, count: open.count, first: open.published)
    let isBulk = open.count > Segment.maximumOfUsual
    let topic = isBulk ? options.ingest.bulkTopic : options.ingest.segmentsTopic
    for first in stride(from: 0, to: open.missing.count, by: Self.window) {
      let numbers = open.missing[first..<min(first + Self.window, open.missing.count)]
      let records = numbers.flatMap { plan.segments($0..<$0 + 1) }.map { SegmentRecord.encode($0) }
      try await writer.publish(topic, records)
    }
    // The record that brings the next of them may be lost as well.
    if isBulk, open.published > 0, open.published < open.count {
      try await writer.publish(topic, [SegmentRecord.encode(plan)])
    }
    guard !open.missing.isEmpty else { return }
    options.log.warning(
      "segments that Kafka may have lost are planned again",
      ["event": .text(event.id), "segments": .integer(open.missing.count)])
  }

  private func ask<T>(_ what: String, _ call: () async throws -> T) async throws -> T {
    try await retry.persistent(what, isOver: { false }, call)
  }
}
