import Evaluation
import EventLoop
import Record
import Telemetry
import Terminal

/// One event from its append to its settled counters, and what it cost the worker.
struct FanOut {
  let event: DemoEvent
  /// Microseconds since 1970.
  let emittedAt: Int64
  let status: FanOutStatus
  /// Records that the worker has given up, as the statistics count them.
  let deadLetters: Int
  let workerCPUNanoseconds: UInt64
  let workerPeakBytes: Int

  /// From the append until the last counter was written.
  var elapsedMilliseconds: Double {
    Double(Int64(status.doneAt) * 1_000 - emittedAt) / 1_000
  }

  /// Pushes that Apple was asked to take; the muted ones never were.
  var sentPushes: Int { status.pushes - status.suppressed }

  var cpuMicrosecondsPerPush: Double {
    sentPushes > 0 ? Double(workerCPUNanoseconds) / 1_000 / Double(sentPushes) : .nan
  }

  /// A fan-out that stands still for so long is given up.
  private static let stallLimit: Duration = .seconds(60)
  private static let lookInterval: Duration = .milliseconds(20)

  /// - Parameter progress: called with the pushes that have an outcome.
  static func run(
    _ event: DemoEvent, on ensemble: Ensemble, progress: (FanOutStatus) -> Void = { _ in }
  ) async throws(CommandFailure) -> FanOut {
    let before = try ensemble.workerUsage()
    let emittedAt = try await ensemble.emit(event)
    let status = try await settled(event, on: ensemble, progress)
    let after = try ensemble.workerUsage()
    return FanOut(
      event: event, emittedAt: emittedAt, status: status,
      deadLetters: try await ensemble.deadLetters(),
      workerCPUNanoseconds: after.cpuNanoseconds - before.cpuNanoseconds,
      workerPeakBytes: after.peakResidentBytes)
  }

  private static func settled(
    _ event: DemoEvent, on ensemble: Ensemble, _ progress: (FanOutStatus) -> Void
  ) async throws(CommandFailure) -> FanOutStatus {
    let loop = ensemble.household.loop
    var last: FanOutStatus?
    var changedAt = loop.now
    while true {
      try ensemble.household.checkpoint()
      let status = try await ensemble.status(of: event.id)
      if status != last { changedAt = loop.now }
      last = status
      if let status {
        progress(status)
        if status.state != .running, status.state != .unknown { return status }
      }
      guard loop.now < changedAt + stallLimit.nanoseconds else {
        let settled = status.map {
          "\($0.settled) of \($0.segments + $0.stragglers) segments are settled, "
            + "\($0.waiting) pushes wait for another try"
        }
        throw CommandFailure(
          .failed,
          "the fan-out has stood still for \(Figures.duration(stallLimit)): "
            + (settled ?? "the worker has not opened it"))
      }
      await loop.wait(lookInterval)
    }
  }
}

extension FanOutCounters {
  init(_ status: FanOutStatus) {
    self.init()
    recipients = status.recipients
    pushes = status.pushes
    accepted = status.accepted
    rejected = status.rejected
    expired = status.expired
    cancelled = status.cancelled
    suppressed = status.suppressed
    pruned = status.pruned
  }
}

extension FanOutStatus {
  /// Pushes that have an outcome.
  var outcomes: Int { FanOutCounters(self).outcomes }
}
