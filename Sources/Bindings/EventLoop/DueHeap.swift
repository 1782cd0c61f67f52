/// Items by the time when they are due, earliest first, and those of the same time in the order in
/// which they came. Times are monotonic nanoseconds. Items stay where they were put, and only the
/// keys of a `DueOrder` move: that costs little whatever an item is.
public struct DueHeap<Item> {
  @usableFromInline var order = DueOrder()
  @usableFromInline var items: [Item?] = []
  /// Places in `items` that hold nothing.
  @usableFromInline var free: [Int] = []

  @inlinable public init() {}

  @inlinable public var count: Int { order.keys.count }
  @inlinable public var isEmpty: Bool { order.keys.isEmpty }
  @inlinable public var first: Item? { isEmpty ? nil : items[order.keys[0].place] }
  @inlinable public var nextDue: UInt64? { isEmpty ? nil : order.keys[0].due }

  @inlinable public mutating func insert(_ item: Item, due: UInt64) {
    if let place = free.popLast() {
      items[place] = item
      order.insert(due: due, place: place)
    } else {
      items.append(item)
      order.insert(due: due, place: items.count - 1)
    }
  }

  @inlinable @discardableResult public mutating func popFirst() -> Item? {
    isEmpty ? nil : takeOut(order.removeFirst())
  }

  @inlinable public mutating func popFirst(dueAt now: UInt64) -> Item? {
    isEmpty || order.keys[0].due > now ? nil : takeOut(order.removeFirst())
  }

  @inlinable public func contains(where isWanted: (Item) -> Bool) -> Bool {
    items.contains { $0.map(isWanted) ?? false }
  }

  /// Takes out and returns those that are wanted, in no order.
  @inlinable @discardableResult
  public mutating func take(where isWanted: (Item) -> Bool) -> [Item] {
    let wanted = items.indices.filter { items[$0].map(isWanted) ?? false }
    guard !wanted.isEmpty else { return [] }
    let taken = wanted.compactMap { takeOut($0) }
    order.removeAll { items[$0] == nil }
    return taken
  }

  @inlinable mutating func takeOut(_ place: Int) -> Item? {
    free.append(place)
    return items[place].take()
  }
}

/// The binary heap of a `DueHeap`: when what is in a place is due.
@usableFromInline struct DueOrder {
  @usableFromInline struct Key {
    @usableFromInline let due: UInt64
    @usableFromInline let place: Int
    let sequence: UInt64

    func isBefore(_ other: Key) -> Bool {
      due < other.due || due == other.due && sequence < other.sequence
    }
  }

  @usableFromInline private(set) var keys: [Key] = []
  private var sequence: UInt64 = 0

  @usableFromInline init() {}

  @usableFromInline mutating func insert(due: UInt64, place: Int) {
    sequence += 1
    let key = Key(due: due, place: place, sequence: sequence)
    keys.append(key)
    var child = keys.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard key.isBefore(keys[parent]) else { break }
      keys[child] = keys[parent]
      child = parent
    }
    keys[child] = key
  }

  /// - Precondition: there is one.
  @usableFromInline mutating func removeFirst() -> Int {
    let place = keys[0].place
    let last = keys.removeLast()
    if !keys.isEmpty { sink(last, from: 0) }
    return place
  }

  @usableFromInline mutating func removeAll(where isUnwanted: (Int) -> Bool) {
    keys.removeAll { isUnwanted($0.place) }
    for parent in stride(from: keys.count / 2 - 1, through: 0, by: -1) {
      sink(keys[parent], from: parent)
    }
  }

  private mutating func sink(_ key: Key, from start: Int) {
    var parent = start
    while true {
      var child = 2 * parent + 1
      guard child < keys.count else { break }
      if child + 1 < keys.count, keys[child + 1].isBefore(keys[child]) { child += 1 }
      guard keys[child].isBefore(key) else { break }
      keys[parent] = keys[child]
      parent = child
    }
    keys[parent] = key
  }
}

/// Timers by deadline, earliest first. Cancelled ones leave when they come to the top, or when the
/// heap has doubled since they were last looked for: each insertion pays for a bounded share of it.
///
/// Beside `DueHeap`, since the compiler specializes no generics of another file in tests.
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
    // `nextDeadline` takes out those that are cancelled.
    while let first = timers.nextDue, first < now, let next = timers.popFirst() {
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

/// A scheduled call; forget it or `cancel` it.
package final class LoopTimer {
  let deadline: UInt64
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

  var isCancelled: Bool { body == nil }
}
