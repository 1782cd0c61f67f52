import Model

/// A push that is to be sent: the `index`-th of `batch`, sent `tries` times before.
struct ReadyPush {
  let batch: PushBatch
  let index: Int
  let tries: Int

  /// The same push after one more try.
  func again() -> ReadyPush { ReadyPush(batch: batch, index: index, tries: tries + 1) }
}

/// The pushes of one route that wait for a stream. Those that come back go first; new ones follow,
/// batch by batch in the order they came. Its bound is the lane's `readyPushes`, which admission
/// keeps.
struct ReadyQueue {
  private struct Range {
    let batch: PushBatch
    var next: Int
  }

  private let environment: APNsEnvironment
  private var returned: [ReadyPush] = []
  private var ranges: [Range] = []
  private var head = 0
  private(set) var count = 0

  init(environment: APNsEnvironment) { self.environment = environment }

  /// Takes the pushes of `batch` that are for this environment; returns how many.
  mutating func append(_ batch: PushBatch) -> Int {
    let mine = batch.entries.count(where: { $0.environment == environment })
    guard mine > 0 else { return 0 }
    ranges.append(Range(batch: batch, next: 0))
    count += mine
    return mine
  }

  mutating func putBack(_ push: ReadyPush) {
    returned.append(push)
    count += 1
  }

  mutating func next() -> ReadyPush? {
    if let push = returned.popLast() {
      count -= 1
      return push
    }
    while head < ranges.count {
      let batch = ranges[head].batch
      var index = ranges[head].next
      while index < batch.entries.count, batch.entries[index].environment != environment {
        index += 1
      }
      guard index < batch.entries.count else {
        dropHead()
        continue
      }
      ranges[head].next = index + 1
      if index + 1 == batch.entries.count { dropHead() }
      count -= 1
      return ReadyPush(batch: batch, index: index, tries: 0)
    }
    return nil
  }

  /// Takes out the pushes whose event has expired at `milliseconds` since 1970.
  mutating func takeExpired(at milliseconds: Int64) -> [ReadyPush] {
    let isExpired = { (batch: PushBatch) in batch.headers.expiresAt <= milliseconds }
    var expired = returned.filter { isExpired($0.batch) }
    returned.removeAll { isExpired($0.batch) }
    for range in ranges[head...] where isExpired(range.batch) {
      for index in range.next..<range.batch.entries.count
      where range.batch.entries[index].environment == environment {
        expired.append(ReadyPush(batch: range.batch, index: index, tries: 0))
      }
    }
    if !expired.isEmpty {
      ranges.removeFirst(head)
      head = 0
      ranges.removeAll { isExpired($0.batch) }
    }
    count -= expired.count
    return expired
  }

  private mutating func dropHead() {
    head += 1
    if head == ranges.count {
      ranges.removeAll(keepingCapacity: true)
      head = 0
    } else if head > 32 {
      ranges.removeFirst(head)
      head = 0
    }
  }
}

/// Pushes that wait out a back-off, earliest first. Its bound is the caller's: the batches that a
/// segment may have unsettled.
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
    var parent = 0
    while true {
      var smallest = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
        if heap[child].due < heap[smallest].due { smallest = child }
      }
      guard smallest != parent else { return first.push }
      heap.swapAt(parent, smallest)
      parent = smallest
    }
  }
}
