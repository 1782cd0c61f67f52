import Model

/// Pushes that wait out a back-off, earliest first. Its bound is the route's, `waitingPushes`.
struct RetryQueue {
  private struct Item {
    let due: UInt64
    let push: ReadyPush
  }

  private var heap: [Item] = []

  var count: Int { heap.count }
  /// Monotonic nanoseconds.
  var nextDue: UInt64? { heap.first?.due }

  mutating func append(_ push: ReadyPush, due: UInt64) {
    heap.append(Item(due: due, push: push))
    var child = heap.count - 1
    while child > 0, heap[child].due < heap[(child - 1) / 2].due {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  mutating func popDue(at now: UInt64) -> ReadyPush? {
    guard let first = heap.first, first.due <= now else { return nil }
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    sink(0)
    return first.push
  }

  func contains(_ tally: SegmentTally) -> Bool { heap.contains { $0.push.tally === tally } }

  /// Takes out the pushes of one segment.
  mutating func take(of tally: SegmentTally) -> [ReadyPush] {
    let taken = heap.filter { $0.push.tally === tally }.map(\.push)
    guard !taken.isEmpty else { return [] }
    heap.removeAll { $0.push.tally === tally }
    for parent in stride(from: heap.count / 2 - 1, through: 0, by: -1) { sink(parent) }
    return taken
  }

  private mutating func sink(_ start: Int) {
    var parent = start
    while true {
      var smallest = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
        if heap[child].due < heap[smallest].due { smallest = child }
      }
      guard smallest != parent else { return }
      heap.swapAt(parent, smallest)
      parent = smallest
    }
  }
}
