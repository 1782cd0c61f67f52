import Deliver
import Text

/// Waits for the last outcomes of segments, without their places where it may. Confined to its
/// lane.
final class SegmentLingering {
  /// Pushes that would expire before they are tried again stay where they are until then.
  private static let shortestStraggle: Duration = .milliseconds(1500)
  private static let longestStay: Duration = .seconds(5)

  private let options: PipelineOptions
  private let deliver: DeliverStage
  private let times: StragglerTimes
  private let runs: SegmentRuns

  init(
    options: PipelineOptions, deliver: DeliverStage, times: StragglerTimes, runs: SegmentRuns
  ) {
    self.options = options
    self.deliver = deliver
    self.times = times
    self.runs = runs
  }

  /// Leaves the place when every push was tried, and waits for the rest; what still waits for
  /// another try after `straggleAfter` becomes stragglers.
  func linger(_ run: SegmentRun) async throws {
    if !runs.isLeaving { _ = await run.progress.reached(.nothingUnsent) }
    try runs.check(run)
    var limit = SegmentRun.lingerStep
    if runs.mayLinger(run) {
      // Until it is recorded: while nobody takes records, no more are begun.
      run.isLingering = true
      run.leavePlace()
      // What waits for a closed route waits elsewhere, and leaves room to what comes back soon.
      if !deliver.waitsForClosedRoute(run.tally) { limit = options.straggleAfter }
    }
    var isSettled = await run.progress.reached(.allSettled, within: limit)
    while !isSettled {
      try runs.check(run)
      if !runs.isLeaving, times.left(until: run.segment.event.expiresAt) > shortestStraggle(run) {
        deliver.postponeWaiting(of: run.tally)
      }
      isSettled = await run.progress.reached(.allSettled, within: SegmentRun.lingerStep)
    }
    try runs.check(run)
  }

  /// Near the expiry the order of the stragglers' topic would make a last try come too late: who
  /// keeps no place stays where it is.
  private func shortestStraggle(_ run: SegmentRun) -> Duration {
    guard run.isLingering, !deliver.waitsForClosedRoute(run.tally) else {
      return Self.shortestStraggle
    }
    return Self.shortestStraggle + min(options.straggleDelay, Self.longestStay)
  }
}
