import Synchronization

/// What a lane counts. Sums over its life; never goes down.
package enum WorkerCounter: Int, Sendable, CaseIterable {
  case eventsOK, eventsMalformed, eventsExpired, eventsDuplicate, eventsDeadLettered, eventsResumed
  case segmentsPublished, segmentsSettled, segmentsAlreadySettled, segmentsExpired
  case recipients, skipped, stragglers
  case pushesAccepted, pushesRejected, pushesExpired, pushesCancelled, pushesSuppressed
  case requests, retries, requestTimeouts
  case tokensPruned, tokensPruneRefused, tokensQuarantined
  case payloadsTruncated, payloadsUnrenderable
  case connectionsOpened, connectionsClosed, connectionsFailed, goAways, providerTokensIssued
  case redisCommands, redisErrors, redisReconnects
  case kafkaCommits, kafkaCommitFailures, kafkaRebalances, kafkaErrors
  case partitionPauses, partitionResumes
}

/// What a lane has at this moment.
package enum WorkerGauge: Int, Sendable, CaseIterable {
  case eventsInFlight, segmentsInFlight, recipientsPending
  case pushesQueued, streamsInFlight, streamsLimit, connectionsOpen
  case partitionsAssigned, partitionsPaused
}

/// The counters of one lane or worker. Written by its lane (a batch at a time where it can be),
/// read by whoever reports; relaxed atomics, so that a reader sees each number soon, not all at
/// the same instant.
package final class WorkerCounters: Sendable {
  /// Rejections are counted by `RejectionReason.rawValue` too, without knowing the reasons here.
  package static let maximumReasons = 64

  private let counters = InlineArray<48, Atomic<Int>> { _ in Atomic(0) }
  private let gauges = InlineArray<16, Atomic<Int>> { _ in Atomic(0) }
  private let rejections = InlineArray<64, Atomic<Int>> { _ in Atomic(0) }

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

  package func set(_ gauge: WorkerGauge, _ value: Int) {
    gauges[gauge.rawValue].store(value, ordering: .relaxed)
  }

  package func move(_ gauge: WorkerGauge, by amount: Int) {
    gauges[gauge.rawValue].wrappingAdd(amount, ordering: .relaxed)
  }

  package func snapshot() -> WorkerSnapshot {
    var snapshot = WorkerSnapshot()
    for counter in WorkerCounter.allCases {
      snapshot[counter] = counters[counter.rawValue].load(ordering: .relaxed)
    }
    for gauge in WorkerGauge.allCases {
      snapshot[gauge] = gauges[gauge.rawValue].load(ordering: .relaxed)
    }
    for reason in 0..<Self.maximumReasons {
      snapshot.rejections[reason] = rejections[reason].load(ordering: .relaxed)
    }
    return snapshot
  }
}

/// The counters at one moment. Lanes are added up with `+`; `since` gives what happened between
/// two moments.
package struct WorkerSnapshot: Sendable, Equatable {
  private var counters = [Int](repeating: 0, count: WorkerCounter.allCases.count)
  private var gauges = [Int](repeating: 0, count: WorkerGauge.allCases.count)
  /// By `RejectionReason.rawValue`.
  package fileprivate(set) var rejections = [Int](
    repeating: 0, count: WorkerCounters.maximumReasons)

  package init() {}

  package fileprivate(set) subscript(counter: WorkerCounter) -> Int {
    get { counters[counter.rawValue] }
    set { counters[counter.rawValue] = newValue }
  }

  package fileprivate(set) subscript(gauge: WorkerGauge) -> Int {
    get { gauges[gauge.rawValue] }
    set { gauges[gauge.rawValue] = newValue }
  }

  /// Pushes with an outcome.
  package var pushes: Int {
    self[.pushesAccepted] + self[.pushesRejected] + self[.pushesExpired] + self[.pushesCancelled]
      + self[.pushesSuppressed]
  }

  package static func + (first: WorkerSnapshot, second: WorkerSnapshot) -> WorkerSnapshot {
    var sum = first
    for index in sum.counters.indices { sum.counters[index] &+= second.counters[index] }
    for index in sum.gauges.indices { sum.gauges[index] &+= second.gauges[index] }
    for index in sum.rejections.indices { sum.rejections[index] &+= second.rejections[index] }
    return sum
  }

  /// Counters less those of an earlier snapshot; gauges as they are now.
  package func since(_ earlier: WorkerSnapshot) -> WorkerSnapshot {
    var difference = self
    for index in counters.indices { difference.counters[index] &-= earlier.counters[index] }
    for index in rejections.indices { difference.rejections[index] &-= earlier.rejections[index] }
    return difference
  }
}
