import Processes
import Record

/// One event from its append to its settled counters, and what it cost the worker.
package struct MeasuredFanOut {
  package let event: GoLiveEvent
  /// Microseconds since 1970.
  package let emittedAt: Int64
  package let status: FanOutStatus
  /// Records that the worker has given up, as the statistics count them.
  package let deadLetters: Int
  package let workerCPUNanoseconds: UInt64
  package let workerPeakBytes: Int
  /// Of each server.
  package let redisCPUNanoseconds: [UInt64]

  /// From the append until the last counter was written.
  package var elapsedMilliseconds: Double {
    Double(Int64(status.doneAt) * 1_000 - emittedAt) / 1_000
  }

  /// Pushes that Apple was asked to take; the muted ones never were.
  package var sentPushes: Int { status.pushes - status.suppressed }

  package var cpuMicrosecondsPerPush: Double { perPush(workerCPUNanoseconds) }

  /// Of all servers.
  package var redisMicrosecondsPerPush: Double { perPush(redisCPUNanoseconds.reduce(0, +)) }

  private func perPush(_ nanoseconds: UInt64) -> Double {
    sentPushes > 0 ? Double(nanoseconds) / 1_000 / Double(sentPushes) : .nan
  }

  /// - Parameter progress: called with the pushes that have an outcome.
  package static func run(
    _ event: GoLiveEvent, on stack: LocalStack, progress: (FanOutStatus) -> Void = { _ in }
  ) async throws(LocalRunError) -> MeasuredFanOut {
    let before = try stack.workerUsage()
    let redisBefore = try stack.redisCPU()
    let emittedAt = try await stack.emit(event)
    let status = try await stack.settled(event, progress: progress)
    let after = try stack.workerUsage()
    let redisAfter = try stack.redisCPU()
    return MeasuredFanOut(
      event: event, emittedAt: emittedAt, status: status,
      deadLetters: try await stack.deadLetters(),
      workerCPUNanoseconds: after.cpuNanoseconds - before.cpuNanoseconds,
      workerPeakBytes: after.peakResidentBytes,
      redisCPUNanoseconds: zip(redisAfter, redisBefore).map { $0 - $1 })
  }
}

extension FanOutStatus {
  /// Pushes that have an outcome.
  package var outcomes: Int { FanOutCounters(self).outcomes }
}

/// The counters of one fan-out as Redis has them.
package struct FanOutCounters: Sendable, Equatable {
  package var recipients = 0
  package var pushes = 0
  package var accepted = 0
  /// By Apple's name of the reason; ours among them.
  package var rejected: [String: Int] = [:]
  package var expired = 0
  package var cancelled = 0
  package var suppressed = 0
  /// By the name of the rule.
  package var suppressedByRule: [String: Int] = [:]
  package var pruned = 0

  package init() {}

  package init(_ status: FanOutStatus) {
    self.init()
    recipients = status.recipients
    pushes = status.pushes
    accepted = status.accepted
    rejected = status.rejected
    expired = status.expired
    cancelled = status.cancelled
    suppressed = status.suppressed
    suppressedByRule = status.suppressedByRule
    pruned = status.pruned
  }

  /// Reasons of our own: the simulator was not asked.
  package static let ownReasons: Set<String> = ["Unrenderable", "NoRoute"]

  /// Pushes that have an outcome without an answer of the simulator.
  package var outcomesWithoutSending: Int {
    expired + cancelled + Self.ownReasons.reduce(0) { $0 + (rejected[$1] ?? 0) }
  }

  package var outcomes: Int {
    accepted + rejected.values.reduce(0, +) + expired + cancelled + suppressed
  }
}
