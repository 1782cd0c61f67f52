import Deliver
import EventLoop
import Model
import Record

/// Checks every second whether somebody has paused, resumed or cancelled a fan-out that the lane
/// works on. Confined to its lane.
final class FanOutControlWatch {
  /// Half of the two seconds in which every worker obeys.
  static let interval: Duration = .seconds(1)

  private let lane: LaneContext
  private let segments: SegmentRunner
  /// Events that Redis is asked about: no older answer comes after a newer one.
  private var asking: Set<String> = []

  init(_ lane: LaneContext, _ segments: SegmentRunner) {
    self.lane = lane
    self.segments = segments
  }

  /// Also those that wait to begin: they go on then, and learn it with their claims.
  private var all: [SegmentRun] { segments.runs.all + segments.limited.waitingRuns }

  /// Each event by itself: where one stands on a master that is away, no other waits for it.
  func check(isolation: isolated any Actor = #isolation) {
    for event in all.map(\.segment.event.id) where asking.insert(event).inserted {
      lane.loop.task(on: isolation) { [self] in await check(event) }
    }
  }

  private func check(_ event: String) async {
    defer { asking.remove(event) }
    do {
      obey(try await lane.record.halts(of: [event]))
    } catch {
      // It is checked again in a second, and each segment asks when it is claimed.
      lane.log.debug(
        "whether a fan-out is paused or cancelled was not read", ["error": .text("\(error)")])
    }
  }

  /// Pushes in flight are answered; all others of a run leave it or have their outcome. Also those
  /// that came since the last check: while no stream is free nobody else does this.
  private func obey(_ halts: [String: Halt?]) {
    for run in all {
      // It may have begun while Redis was asked, or Redis did not say.
      guard let halt = halts[run.segment.event.id] else { continue }
      let fanOut = run.tally.fanOut
      // A cancelled fan-out stays cancelled: some of it has its outcome.
      if fanOut.halt != .cancelled, fanOut.halt != halt {
        fanOut.halt = halt
        report(halt, of: run.segment.event)
      }
      switch fanOut.halt {
      case nil: continue
      case .paused: lane.deliver.postponeAll(of: run.tally)
      case .cancelled: lane.deliver.settleAll(of: run.tally)
      }
      run.wake()
    }
  }

  /// Once for each lane: the log leaves out what it has just said.
  private func report(_ halt: Halt?, of event: Event) {
    let what =
      switch halt {
      case nil: "fan-out resumed"
      case .paused: "fan-out paused: nothing of it is sent"
      case .cancelled: "fan-out cancelled: what was not sent counts as cancelled"
      }
    lane.log.notice(what, .of(event, ["streamer": .text(event.streamer)]))
  }
}
