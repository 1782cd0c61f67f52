/// First in, first out, without moving what waits at each step, and without keeping what has left.
public struct Queue<Element> {
  @usableFromInline var items: [Element?] = []
  @usableFromInline var head = 0

  @inlinable public init() {}

  @inlinable public var count: Int { items.count - head }
  @inlinable public var isEmpty: Bool { head == items.count }
  @inlinable public var first: Element? { isEmpty ? nil : items[head] }
  /// In their order.
  @inlinable public var all: [Element] { items[head...].compactMap { $0 } }

  @inlinable public mutating func append(_ item: Element) { items.append(item) }

  @inlinable public func contains(where matches: (Element) -> Bool) -> Bool {
    items[head...].contains { item in item.map(matches) ?? false }
  }

  /// Puts another in the place of the first.
  @inlinable public mutating func replaceFirst(by item: Element) {
    if !isEmpty { items[head] = item }
  }

  @inlinable public mutating func popFirst() -> Element? {
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

  /// Keeps the memory for those to come.
  @inlinable public mutating func removeAll() {
    items.removeAll(keepingCapacity: true)
    head = 0
  }

  /// Empties the queue; what it held, in order.
  @inlinable public mutating func takeAll() -> [Element] {
    defer {
      items = []
      head = 0
    }
    return all
  }

  @inlinable public mutating func remove(where matches: (Element) -> Bool) {
    items = items[head...].filter { item in item.map { !matches($0) } ?? false }
    head = 0
  }
}
