import Synchronization

/// A worker's counters. Sums over its life; never go down.
package enum WorkerCounter: Int, Sendable, CaseIterable {
  case eventsOK, eventsMalformed, eventsDeadLettered, eventsExpired, eventsDuplicate, eventsResumed
  case eventsStopped, eventsWithoutAudience, eventsScheduled, streamsEnded
  case segmentsSettled, segmentsAlreadySettled, segmentsUnread, claimsLost, claimsTakenOver
  case recipients, skipped, unknownZones, unknownLocales, stragglers
  case pushesAccepted, pushesRejected, pushesExpired, pushesCancelled, pushesSuppressed
  case suppressedMuted, suppressedQuiet, suppressedCap, suppressedDevice
  case retries
  case tokensPruned, tokensPruneRefused, tokensPruneUndated, tokensPruneWithheld
  case tokensQuarantined, tokensQuarantineWithheld, tokenNews
  case outcomes, outcomesLost
  case spansExported, spansDropped
  case kafkaCommits, kafkaCommitFailures
  case kafkaAssignments, kafkaRevocations, kafkaLosses
  case credentialsReplaced, credentialsRefused
  case tapSamples, tapSamplesDropped
}

/// The counters of a worker. Written by all of its lanes (a batch at a time where it can be), read
/// by whoever reports; relaxed atomics, so that a reader sees each number soon, not all at the
/// same instant.
package final class WorkerCounters: Sendable {
  /// Rejections are counted by `RejectionReason.index` too, without knowing the reasons here.
  static let maximumReasons = 64

  private let counters = InlineArray<50, Atomic<Int>> { _ in Atomic(0) }
  private let rejections = InlineArray<64, Atomic<Int>> { _ in Atomic(0) }
  /// Dead letters by the code of their reason, without knowing the codes here.
  package static let maximumCodes = 32
  private let deadLetters = InlineArray<32, Atomic<Int>> { _ in Atomic(0) }

  package init() {}

  package func add(_ counter: WorkerCounter, _ amount: Int = 1) {
    counters[counter.rawValue].wrappingAdd(amount, ordering: .relaxed)
  }

  /// Counts a rejection under its reason as well as under `pushesRejected`. A reason beyond
  /// `maximumReasons` counts as the last.
  package func addRejected(reason: UInt8, _ amount: Int = 1) {
    add(.pushesRejected, amount)
    rejections[min(Int(reason), Self.maximumReasons - 1)].wrappingAdd(amount, ordering: .relaxed)
  }

  /// A code beyond `maximumCodes` counts as the last.
  package func addDeadLetter(code: Int) {
    deadLetters[min(code, Self.maximumCodes - 1)].wrappingAdd(1, ordering: .relaxed)
  }

  package func snapshot() -> WorkerSnapshot {
    var snapshot = WorkerSnapshot()
    for counter in WorkerCounter.allCases {
      snapshot[counter] = counters[counter.rawValue].load(ordering: .relaxed)
    }
    for reason in 0..<Self.maximumReasons {
      snapshot.rejections[reason] = rejections[reason].load(ordering: .relaxed)
    }
    for code in 0..<Self.maximumCodes {
      snapshot.deadLetters[code] = deadLetters[code].load(ordering: .relaxed)
    }
    return snapshot
  }
}

/// The counters at one moment.
package struct WorkerSnapshot: Sendable, Equatable {
  private var counters = [Int](repeating: 0, count: WorkerCounter.allCases.count)
  /// By `RejectionReason.index`.
  package fileprivate(set) var rejections = [Int](
    repeating: 0, count: WorkerCounters.maximumReasons)
  /// By the number of their reason's code.
  package fileprivate(set) var deadLetters = [Int](repeating: 0, count: WorkerCounters.maximumCodes)

  package init() {}

  package fileprivate(set) subscript(counter: WorkerCounter) -> Int {
    get { counters[counter.rawValue] }
    set { counters[counter.rawValue] = newValue }
  }

  /// Pushes with an outcome.
  package var pushes: Int {
    self[.pushesAccepted] + self[.pushesRejected] + self[.pushesExpired] + self[.pushesCancelled]
      + self[.pushesSuppressed]
  }
}
