import EventLoop
import Model

/// Pushes that wait out a back-off, earliest first. Its bound is the route's, `waitingPushes`.
struct RetryQueue {
  private var pushes = DueHeap<ReadyPush>()

  var count: Int { pushes.count }
  /// Monotonic nanoseconds.
  var nextDue: UInt64? { pushes.nextDue }

  mutating func append(_ push: ReadyPush, due: UInt64) { pushes.insert(push, due: due) }

  mutating func popDue(at now: UInt64) -> ReadyPush? { pushes.popFirst(dueAt: now) }

  func contains(_ tally: SegmentTally) -> Bool { pushes.contains { $0.tally === tally } }

  /// Takes out the pushes of one segment.
  mutating func take(of tally: SegmentTally) -> [ReadyPush] {
    pushes.take { $0.tally === tally }
  }
}
