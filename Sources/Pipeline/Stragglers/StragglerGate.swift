import Deliver
import Ingest
import Kafka

/// Where a lane's records of stragglers come in. Confined to its lane.
final class StragglerGate {
  typealias Work = (KafkaMessage, _ vacate: @escaping () -> Void) async throws -> Receipt

  private let options: PipelineOptions
  private let deliver: DeliverStage
  private let labels: StragglerLabels
  private let times: StragglerTimes
  private let delays: StragglerDelays
  private let runs: SegmentRuns
  private var admission = StragglerAdmission()

  init(
    options: PipelineOptions, deliver: DeliverStage, labels: StragglerLabels,
    times: StragglerTimes, delays: StragglerDelays, runs: SegmentRuns
  ) {
    self.options = options
    self.deliver = deliver
    self.labels = labels
    self.times = times
    self.delays = delays
    self.runs = runs
  }

  /// Has a record worked on, or puts it off.
  func pass(
    _ message: KafkaMessage, _ vacate: @escaping () -> Void, work: Work
  ) async throws -> Receipt {
    let label = labels.complete(of: message)
    let decision = admission.admit(
      label, bytes: message.valueBytes, left: label.expiresAt.map { times.left(until: $0) },
      now: options.wallClock(), route: state(of: label, message))
    defer { admission.end(decision) }
    switch decision {
    case .putOff: return try await delays.putOff(message, label, vacate)
    case .workWithoutPlace: vacate()
    case .work, .probe: break
    }
    return try await work(message, vacate)
  }

  private func state(
    of label: StragglerLabel, _ message: KafkaMessage
  ) -> StragglerAdmission.RouteState {
    guard let route = label.route else { return StragglerAdmission.RouteState() }
    let fanOut = SegmentRecord.event(ofKey: message.key).flatMap(runs.fanOut)
    return StragglerAdmission.RouteState(
      isClosed: deliver.isClosed(route), isHeld: deliver.isHeld(route),
      isSlow: deliver.yields(route),
      isStuck: fanOut.map { deliver.getsNowhere($0, on: route) } ?? false)
  }
}
