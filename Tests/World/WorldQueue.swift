/// What is due at a time, the earliest first; what is due at the same time, in the order in which
/// it came. A heap of its own, since a world spends much of its time here and the compiler
/// specializes within a module.
struct WorldQueue<Element> {
  private struct Entry {
    let due: UInt64
    let number: UInt64
    let element: Element

    func isBefore(_ other: Entry) -> Bool {
      due < other.due || due == other.due && number < other.number
    }
  }

  private var entries: [Entry] = []
  private var last: UInt64 = 0

  var nextDue: UInt64? { entries.first?.due }

  mutating func insert(_ element: Element, due: UInt64) {
    last += 1
    let entry = Entry(due: due, number: last, element: element)
    entries.append(entry)
    var place = entries.count - 1
    while place > 0 {
      let parent = (place - 1) / 2
      guard entry.isBefore(entries[parent]) else { break }
      entries[place] = entries[parent]
      place = parent
    }
    entries[place] = entry
  }

  mutating func popFirst(dueAt now: UInt64) -> Element? {
    guard let first = entries.first, first.due <= now else { return nil }
    let last = entries.removeLast()
    if !entries.isEmpty { sink(last) }
    return first.element
  }

  /// Puts an entry in the place of the first.
  private mutating func sink(_ entry: Entry) {
    var place = 0
    while true {
      var child = 2 * place + 1
      guard child < entries.count else { break }
      if child + 1 < entries.count, entries[child + 1].isBefore(entries[child]) { child += 1 }
      guard entries[child].isBefore(entry) else { break }
      entries[place] = entries[child]
      place = child
    }
    entries[place] = entry
  }
}
