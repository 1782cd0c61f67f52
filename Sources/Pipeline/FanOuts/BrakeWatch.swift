import Deliver
import EventLoop
import Model
import Record

/// Looks every second whether somebody has stopped a fan-out that the lane works on, or lets it go
/// on. Confined to its lane.
final class BrakeWatch {
  /// Half of the two seconds in which every worker obeys.
  static let interval: Duration = .seconds(1)

  private let options: PipelineOptions
  private let loop: EventLoop
  private let record: RecordStage
  private let deliver: DeliverStage
  private let runs: SegmentRuns
  private let limited: LimitedSegments
  /// Events that Redis is asked about: no older answer comes after a newer one.
  private var asking: Set<String> = []

  init(
    options: PipelineOptions, loop: EventLoop, record: RecordStage, deliver: DeliverStage,
    runs: SegmentRuns, limited: LimitedSegments
  ) {
    self.options = options
    self.loop = loop
    self.record = record
    self.deliver = deliver
    self.runs = runs
    self.limited = limited
  }

  /// Also those that wait to begin: they go on then, and are told with their claims.
  private var all: [SegmentRun] { runs.all + limited.waitingRuns }

  /// Each event by itself: where one stands on a master that is away, no other waits for it.
  func look(isolation lane: isolated any Actor = #isolation) {
    for event in all.map(\.segment.event.id) where asking.insert(event).inserted {
      loop.task(on: lane) { [self] in await look(at: event) }
    }
  }

  private func look(at event: String) async {
    defer { asking.remove(event) }
    do {
      obey(try await record.brakes(of: [event]))
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
      if fanOut.brake != .cancelled, fanOut.brake != brake {
        fanOut.brake = brake
        say(brake, of: run.segment.event)
      }
      switch fanOut.brake {
      case nil: continue
      case .paused: deliver.postponeAll(of: run.tally)
      case .cancelled: deliver.settleAll(of: run.tally)
      }
      run.progress.wake()
    }
  }

  /// Once for each lane: the log leaves out what it has just said.
  private func say(_ brake: Brake?, of event: Event) {
    let what =
      switch brake {
      case nil: "fan-out resumed"
      case .paused: "fan-out paused: nothing of it is sent"
      case .cancelled: "fan-out cancelled: what was not sent counts as cancelled"
      }
    options.log.notice(what, ["event": .text(event.id), "streamer": .text(event.streamer)])
  }
}
