import Deliver
import Model
import Record

/// Looks every second whether somebody has stopped a fan-out that the lane works on, or lets it go
/// on. Confined to its lane.
final class BrakeWatch {
  /// Half of the two seconds in which every worker obeys.
  static let interval: Duration = .seconds(1)

  private let options: PipelineOptions
  private let record: RecordStage
  private let deliver: DeliverStage
  private let runs: SegmentRuns
  private let limited: LimitedSegments

  init(
    options: PipelineOptions, record: RecordStage, deliver: DeliverStage, runs: SegmentRuns,
    limited: LimitedSegments
  ) {
    self.options = options
    self.record = record
    self.deliver = deliver
    self.runs = runs
    self.limited = limited
  }

  /// Also those that wait to begin: they go on then, and are told with their claims.
  private var all: [SegmentRun] { runs.all + limited.waitingRuns }

  func look() async {
    let events = Set(all.map(\.segment.event.id)).sorted()
    guard !events.isEmpty else { return }
    do {
      obey(try await record.brakes(of: events))
    } catch {
      // It is looked at again in a second, and each segment asks when it is claimed.
      options.log.debug("brakes not read", ["error": .text("\(error)")])
    }
  }

  /// What is in flight is answered; all else of a run leaves it or has its outcome. Also what came
  /// since the last look: while no stream is free nobody else tells it.
  private func obey(_ brakes: [String: Brake?]) {
    for run in all {
      // It may have begun while Redis was asked, or Redis did not say.
      guard let brake = brakes[run.segment.event.id] else { continue }
      let fanOut = run.tally.fanOut
      // What was cancelled stays so: some of it has its outcome.
      if fanOut.brake != .cancelled { fanOut.brake = brake }
      switch fanOut.brake {
      case nil: continue
      case .paused: deliver.postponeAll(of: run.tally)
      case .cancelled: deliver.settleAll(of: run.tally)
      }
      run.progress.wake()
    }
  }
}
