/// Answers that wait for their latency, earliest first; a binary heap, since jitter shuffles them.
struct DelayQueue<Item> {
  private var items: [(due: UInt64, sequence: UInt64, item: Item)] = []
  private var sequence: UInt64 = 0

  var isEmpty: Bool { items.isEmpty }
  /// Monotonic nanoseconds.
  var nextDue: UInt64? { items.first?.due }

  mutating func insert(_ item: Item, due: UInt64) {
    sequence += 1
    items.append((due, sequence, item))
    var child = items.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard isBefore(child, parent) else { return }
      items.swapAt(child, parent)
      child = parent
    }
  }

  mutating func takeFirst(dueAt now: UInt64) -> Item? {
    guard let first = items.first, first.due <= now else { return nil }
    items.swapAt(0, items.count - 1)
    items.removeLast()
    var parent = 0
    while true {
      var smallest = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < items.count {
        if isBefore(child, smallest) { smallest = child }
      }
      guard smallest != parent else { return first.item }
      items.swapAt(parent, smallest)
      parent = smallest
    }
  }

  private func isBefore(_ one: Int, _ other: Int) -> Bool {
    (items[one].due, items[one].sequence) < (items[other].due, items[other].sequence)
  }
}
