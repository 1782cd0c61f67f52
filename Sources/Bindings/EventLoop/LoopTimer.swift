/// A scheduled call; forget it or `cancel` it.
package final class LoopTimer {
  fileprivate let deadline: UInt64
  fileprivate var sequence: UInt64 = 0
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

/// Timers by deadline, earliest first; a binary heap. Cancelled ones leave when they come to the
/// top, or when the heap has doubled since they were last looked for: each insertion pays for a
/// bounded share of it.
struct TimerHeap {
  private var items: [LoopTimer] = []
  private var sequence: UInt64 = 0
  private var compactionCount = TimerHeap.smallCount
  private static let smallCount = 1024

  var count: Int { items.count }

  mutating func insert(_ timer: LoopTimer) {
    sequence += 1
    timer.sequence = sequence
    if items.count >= compactionCount { compact() }
    items.append(timer)
    siftUp(items.count - 1)
  }

  /// Takes out every timer that is due.
  mutating func due(at now: UInt64) -> [LoopTimer] {
    guard let first = items.first, first.deadline <= now || first.isCancelled else { return [] }
    var due: [LoopTimer] = []
    while let next = items.first, next.isCancelled || next.deadline <= now {
      removeFirst()
      if !next.isCancelled { due.append(next) }
    }
    return due
  }

  /// For epoll_wait: -1 when there is no timer; rounded up, so that a timer is due when the wait
  /// ends.
  mutating func millisecondsUntilNext(at now: UInt64) -> Int32 {
    while let first = items.first, first.isCancelled { removeFirst() }
    guard let first = items.first else { return -1 }
    guard first.deadline > now else { return 0 }
    return Int32(clamping: (first.deadline - now + 999_999) / 1_000_000)
  }

  private static func isBefore(_ a: LoopTimer, _ b: LoopTimer) -> Bool {
    (a.deadline, a.sequence) < (b.deadline, b.sequence)
  }

  private mutating func compact() {
    let kept = items.filter { !$0.isCancelled }
    compactionCount = max(Self.smallCount, kept.count * 2)
    items.removeAll(keepingCapacity: true)
    for timer in kept {
      items.append(timer)
      siftUp(items.count - 1)
    }
  }

  private mutating func removeFirst() {
    items.swapAt(0, items.count - 1)
    items.removeLast()
    siftDown(0)
  }

  private mutating func siftUp(_ start: Int) {
    var child = start
    while child > 0 {
      let parent = (child - 1) / 2
      guard Self.isBefore(items[child], items[parent]) else { return }
      items.swapAt(child, parent)
      child = parent
    }
  }

  private mutating func siftDown(_ start: Int) {
    var parent = start
    while true {
      var smallest = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < items.count {
        if Self.isBefore(items[child], items[smallest]) { smallest = child }
      }
      guard smallest != parent else { return }
      items.swapAt(parent, smallest)
      parent = smallest
    }
  }
}
