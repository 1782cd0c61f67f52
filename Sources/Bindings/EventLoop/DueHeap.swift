/// Items by the time when they are due, earliest first, and those of the same time in the order in
/// which they came: a binary heap. Times are monotonic nanoseconds.
package struct DueHeap<Item> {
  private struct Entry {
    let due: UInt64
    let sequence: UInt64
    let item: Item

    func isBefore(_ other: Entry) -> Bool {
      (due, sequence) < (other.due, other.sequence)
    }
  }

  private var entries: [Entry] = []
  private var sequence: UInt64 = 0

  package init() {}

  package var count: Int { entries.count }
  package var isEmpty: Bool { entries.isEmpty }
  package var first: Item? { entries.first?.item }
  package var nextDue: UInt64? { entries.first?.due }

  package mutating func insert(_ item: Item, due: UInt64) {
    sequence += 1
    entries.append(Entry(due: due, sequence: sequence, item: item))
    var child = entries.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard entries[child].isBefore(entries[parent]) else { return }
      entries.swapAt(child, parent)
      child = parent
    }
  }

  @discardableResult
  package mutating func popFirst() -> Item? {
    guard !entries.isEmpty else { return nil }
    entries.swapAt(0, entries.count - 1)
    let first = entries.removeLast()
    sink(0)
    return first.item
  }

  package mutating func popFirst(dueAt now: UInt64) -> Item? {
    guard let nextDue, nextDue <= now else { return nil }
    return popFirst()
  }

  package func contains(where isWanted: (Item) -> Bool) -> Bool {
    entries.contains { isWanted($0.item) }
  }

  /// Takes out and returns those that are wanted, in no order.
  @discardableResult
  package mutating func take(where isWanted: (Item) -> Bool) -> [Item] {
    var taken: [Item] = []
    entries.removeAll { entry in
      guard isWanted(entry.item) else { return false }
      taken.append(entry.item)
      return true
    }
    guard !taken.isEmpty else { return [] }
    for parent in stride(from: entries.count / 2 - 1, through: 0, by: -1) { sink(parent) }
    return taken
  }

  private mutating func sink(_ start: Int) {
    var parent = start
    while true {
      var smallest = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < entries.count {
        if entries[child].isBefore(entries[smallest]) { smallest = child }
      }
      guard smallest != parent else { return }
      entries.swapAt(parent, smallest)
      parent = smallest
    }
  }
}
