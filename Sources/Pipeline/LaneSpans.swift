import Ingest
import Model
import Record
import Spans

/// Makes the spans of what a lane has done of events that are traced, and hands them to the
/// exporter's queue, which makes nobody wait. Without a queue it does nothing. Confined to its
/// lane.
final class LaneSpans {
  private let queue: SpanQueue?
  private let ingest: IngestOptions
  /// Ms since 1970.
  private let now: () -> Int64

  init(_ queue: SpanQueue?, ingest: IngestOptions, now: @escaping () -> Int64) {
    self.queue = queue
    self.ingest = ingest
    self.now = now
  }

  private func add(_ event: Event, _ make: (FanOutSpans) -> [Span]) {
    guard let queue, let spans = FanOutSpans(of: event) else { return }
    queue.add(make(spans))
  }

  /// Segments of an event are planned: all of them, or the next window.
  /// - Parameter startedAt: ms since 1970.
  func planned(_ event: Event, first: Int, count: Int, to topic: String, from startedAt: Int64) {
    add(event) {
      [$0.plan(first: first, segments: count, topic: topic, from: startedAt, to: now())]
    }
  }

  /// - Parameters:
  ///   - topic: that the segment's record came from.
  ///   - failure: why the rest of it goes to the dead letters; nil: it is settled.
  func settled(_ run: SegmentRun, failure: String? = nil) {
    add(run.segment.event) {
      let tally = run.tally
      let counts: [(String, Int)] = [
        ("recipients", tally.recipients), ("pushes", tally.pushes), ("accepted", tally.accepted),
        ("rejected", tally.rejections.reduce(0) { $0 + $1.count }), ("expired", tally.expired),
        ("cancelled", tally.cancelled), ("suppressed", tally.suppressed),
        ("retried", tally.retried), ("stragglers", run.written.reduce(0) { $0 + $1.pushes }),
      ]
      return [
        $0.segment(
          run.segment, topic: run.topic, from: run.claimedAt, to: now(), counts: counts,
          failure: failure)
      ]
    }
  }

  /// The fan-out has come to its end.
  func ended(_ event: Event, _ figures: [FanOutFigure], _ rest: FanOutEndings.Rest) {
    add(event) {
      func time(_ counter: FanOutCounter) -> Int64? {
        figures.first { $0.name == counter.rawValue && $0.count > 0 }.map { Int64($0.count) }
      }
      let times = Set(FanOutCounter.times.map(\.rawValue))
      let failure: String? =
        switch rest {
        case .nothing: nil
        case .isInDeadLetters: "a part of it is in the dead letters"
        case .isLost: "records of a part of it are lost"
        }
      let opened = time(.started)
      let whole = $0.fanOut(
        topic: ingest.eventsTopic, opened: opened, ended: time(.done) ?? now(),
        counts: figures.filter { !times.contains($0.name) }.map { ($0.name, $0.count) },
        failure: failure)
      guard let opened, let sent = time(.firstPush) else { return [whole] }
      return [whole, $0.firstPush(topic: ingest.eventsTopic, opened: opened, sent: sent)]
    }
  }

  /// It had expired before anybody read it.
  func expired(_ event: Event) {
    add(event) {
      [
        $0.fanOut(
          topic: ingest.eventsTopic, opened: nil, ended: now(), counts: [],
          failure: "the event expired before it was read")
      ]
    }
  }
}
