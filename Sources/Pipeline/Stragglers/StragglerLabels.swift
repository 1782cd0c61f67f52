import Deliver
import Ingest
import Kafka
import Model
import Render
import Text

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
    let destinations = Destination.all.filter(list.destinations.contains)
    let routes = destinations.compactMap { route(of: segment.event, $0) }
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
  private func route(of event: Event, _ destination: Destination) -> PushRoute? {
    render.template(named: event.template).map {
      PushRoute(destination: destination, topic: event.app + $0.pushType.topicSuffix)
    }
  }

  func label(for segment: Segment) -> StragglerLabel {
    let destinations = segment.stragglers?.destinations ?? []
    let now = options.wallClock()
    var label = StragglerLabel(
      route: destinations.count == 1
        ? destinations.first.flatMap { route(of: segment.event, $0) } : nil,
      notBefore: now + times.rest(until: segment.event.expiresAt).wholeMilliseconds, writtenAt: now,
      expiresAt: segment.event.expiresAt)
    if let time = segment.stragglers?.askAgainAt, time > now { label.askAgainAt = time }
    label.isRefused = segment.stragglers?.pushes.allSatisfy { $0.history.refusals > 0 } ?? false
    return label
  }
}
