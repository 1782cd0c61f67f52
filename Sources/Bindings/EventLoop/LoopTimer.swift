/// A scheduled call; forget it or `cancel` it.
package final class LoopTimer {
  fileprivate let deadline: UInt64
  private var body: (() -> Void)?

  init(deadline: UInt64, body: @escaping () -> Void) {
    self.deadline = deadline
    self.body = body
  }

  /// The call will not happen; what it captured is let go at once.
  package func cancel() { body = nil }

  func fire() {
    let call = body
    body = nil
    call?()
  }

  fileprivate var isCancelled: Bool { body == nil }
}

/// Timers by deadline, earliest first. Cancelled ones leave when they come to the top, or when the
/// heap has doubled since they were last looked for: each insertion pays for a bounded share of it.
struct TimerHeap {
  private var timers = DueHeap<LoopTimer>()
  private var compactionCount = TimerHeap.smallCount
  private static let smallCount = 1024

  var count: Int { timers.count }

  mutating func insert(_ timer: LoopTimer) {
    if timers.count >= compactionCount {
      timers.take { $0.isCancelled }
      compactionCount = max(Self.smallCount, timers.count * 2)
    }
    timers.insert(timer, due: timer.deadline)
  }

  /// Takes out every timer whose time has come before `now`.
  mutating func due(before now: UInt64) -> [LoopTimer] {
    var due: [LoopTimer] = []
    while let next = timers.first, next.isCancelled || next.deadline < now {
      timers.popFirst()
      if !next.isCancelled { due.append(next) }
    }
    return due
  }

  /// Of the first that is not cancelled.
  var nextDeadline: UInt64? {
    mutating get {
      while let first = timers.first, first.isCancelled { timers.popFirst() }
      return timers.nextDue
    }
  }
}
