import Deliver
import Ingest
import Kafka
import Model
import Record
import Render
import Telemetry
import Text

/// Writes what segments leave behind. Confined to its lane.
final class StragglerWriter {
  private let options: PipelineOptions
  private let writer: RecordWriter
  private let labels: StragglerLabels
  private let counters: WorkerCounters

  init(
    options: PipelineOptions, writer: RecordWriter, labels: StragglerLabels,
    counters: WorkerCounters
  ) {
    self.options = options
    self.writer = writer
    self.labels = labels
    self.counters = counters
  }

  /// Writes the pushes that left without an outcome into records of their own; the segment's mark
  /// makes them count.
  func write(_ run: SegmentRun) async throws {
    let pushes = run.tally.stragglers
    run.tally.stragglers = []
    run.unwritten = pushes.count
    defer { run.unwritten = 0 }
    // The last is written first.
    var lists = Array(StragglerRecord.lists(pushes).reversed())
    while let list = lists.popLast() {
      let segment = run.segment.straggling(list, number: options.randomNumber())
      let (key, value) = SegmentRecord.encode(segment)
      do {
        try await writer.publish(
          options.ingest.stragglersTopic, key, value, labels.label(for: segment).headers)
      } catch let error as KafkaError {
        // The broker's limit is below ours.
        let half = list.count / 2
        if half > 0 {
          lists += [Array(list[half...]), Array(list[..<half])]
        } else {
          giveUp(list[0], run, error)
        }
        continue
      }
      run.written.append(PlannedStragglers(segment))
      counters.add(.stragglers, list.count)
    }
  }

  private func giveUp(_ push: Straggler, _ run: SegmentRun, _ error: KafkaError) {
    let reason: RejectionReason = push.history.mayHaveArrived ? .unanswered : .unwritable
    run.tally.settlePostponed(push, as: .rejected(reason))
    options.log.error(
      "a push that must wait is given up: Kafka takes no record as large as its event's",
      [
        "event": .text(run.segment.event.id), "user": .text(push.user),
        "error": .text("\(error)"),
      ])
  }
}

/// What the headers of straggler records say, written and read. Confined to its lane.
struct StragglerLabels {
  private let options: PipelineOptions
  private let ingest: IngestStage
  private let render: RenderStage
  private let deliver: DeliverStage
  private let times: StragglerTimes

  init(
    options: PipelineOptions, ingest: IngestStage, render: RenderStage, deliver: DeliverStage,
    times: StragglerTimes
  ) {
    self.options = options
    self.times = times
    self.ingest = ingest
    self.render = render
    self.deliver = deliver
  }

  /// Who reads a record of an older worker finds out for himself what its headers do not say.
  func complete(of message: KafkaMessage) -> StragglerLabel {
    var label = StragglerLabel(message)
    guard label.route == nil || label.expiresAt == nil,
      case .segment(let segment) = ingest.decode(message, now: options.wallClock()),
      let list = segment.stragglers
    else { return label }
    let environments = APNsEnvironment.allCases.filter(list.environments.contains)
    let routes = environments.compactMap { route(of: segment.event, $0) }
    // Pushes of several routes wait only when all of these are closed.
    label.route = routes.first { !deliver.isClosed($0) } ?? routes.first
    label.expiresAt = segment.event.expiresAt
    return label
  }

  /// Of a record without a time, or with one to come, nobody knows its age: it begins now.
  func writtenAt(_ message: KafkaMessage, _ label: StragglerLabel) -> Int64 {
    let now = options.wallClock()
    if let written = label.writtenAt { return min(written, now) }
    return message.timestamp > 0 ? min(message.timestamp, now) : now
  }

  /// Nil when this worker does not know the event's template.
  private func route(of event: Event, _ environment: APNsEnvironment) -> PushRoute? {
    render.template(named: event.template).map {
      PushRoute(environment: environment, topic: event.app + $0.pushType.topicSuffix)
    }
  }

  func label(for segment: Segment) -> StragglerLabel {
    let environments = segment.stragglers?.environments ?? []
    let now = options.wallClock()
    var label = StragglerLabel(
      route: environments.count == 1
        ? environments.first.flatMap { route(of: segment.event, $0) } : nil,
      notBefore: now + times.rest(until: segment.event.expiresAt).wholeMilliseconds, writtenAt: now,
      expiresAt: segment.event.expiresAt)
    if let time = segment.stragglers?.askAgainAt, time > now { label.askAgainAt = time }
    label.isRefused = segment.stragglers?.pushes.allSatisfy { $0.history.refusals > 0 } ?? false
    return label
  }
}
