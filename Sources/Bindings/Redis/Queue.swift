/// First in, first out, without moving what waits at each step.
struct Queue<Element> {
  private var items: [Element?] = []
  private var head = 0

  var count: Int { items.count - head }
  var isEmpty: Bool { head == items.count }
  var first: Element? { isEmpty ? nil : items[head] }

  mutating func append(_ item: Element) { items.append(item) }

  mutating func popFirst() -> Element? {
    guard head < items.count else { return nil }
    defer {
      items[head] = nil
      head += 1
      if head == items.count {
        items.removeAll(keepingCapacity: true)
        head = 0
      } else if head >= 256, head * 2 >= items.count {
        items.removeFirst(head)
        head = 0
      }
    }
    return items[head]
  }

  /// Empties the queue; what it held, in order.
  mutating func takeAll() -> [Element] {
    defer {
      items = []
      head = 0
    }
    return items[head...].compactMap { $0 }
  }

  mutating func remove(where matches: (Element) -> Bool) {
    items = items[head...].filter { item in item.map { !matches($0) } ?? false }
    head = 0
  }
}
