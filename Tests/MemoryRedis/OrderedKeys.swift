/// Keys in the order of insertion: what Redis leaves open is decided here, always in the same way.
/// Each has a number that grows from one insertion to the next, which makes a cursor: who goes on
/// behind a number meets each key once that is there all the time, whatever comes and goes
/// meanwhile. It is what a set holds.
///
/// The tables on top of it are written out for their values, since the compiler specializes no
/// generics of another file in tests.
struct OrderedKeys: Sendable {
  struct Slot: Sendable {
    let key: ByteString
    let number: UInt64
    var isLive = true
  }

  private var positions: [ByteString: Int] = [:]
  private(set) var slots: [Slot] = []
  private var nextNumber: UInt64 = 1

  var count: Int { positions.count }
  var isEmpty: Bool { positions.isEmpty }

  func position(of key: ByteString) -> Int? { positions[key] }

  /// Where keys are, in order.
  var livePositions: [Int] { slots.indices.filter { slots[$0].isLive } }

  /// In order.
  func keys(limit: Int = .max) -> [ByteString] {
    var found: [ByteString] = []
    found.reserveCapacity(min(limit, count))
    for slot in slots where slot.isLive {
      guard found.count < limit else { break }
      found.append(slot.key)
    }
    return found
  }

  /// - Returns: where the key is; a new one is behind all others.
  mutating func insert(_ key: ByteString) -> (position: Int, isNew: Bool) {
    if let position = positions[key] { return (position, false) }
    positions[key] = slots.count
    slots.append(Slot(key: key, number: nextNumber))
    nextNumber += 1
    return (slots.count - 1, true)
  }

  /// - Returns: where it was; nil: it was not there.
  mutating func remove(_ key: ByteString) -> Int? {
    guard let position = positions.removeValue(forKey: key) else { return nil }
    slots[position].isLive = false
    return position
  }

  var isSparse: Bool { slots.count > 16 && slots.count > 2 * positions.count }

  /// Closes gaps: what was at the `livePositions` is at 0, 1, 2 and so on.
  mutating func closeGaps() {
    slots.removeAll { !$0.isLive }
    for (position, slot) in slots.enumerated() { positions[slot.key] = position }
  }

  /// Where up to `limit` keys behind a cursor are, and the next cursor: 0 at the end.
  func page(after cursor: UInt64, limit: Int) -> (positions: [Int], next: UInt64) {
    var low = 0
    var high = slots.count
    while low < high {
      let middle = (low + high) / 2
      if slots[middle].number > cursor { high = middle } else { low = middle + 1 }
    }
    var found: [Int] = []
    while low < slots.count {
      defer { low += 1 }
      guard slots[low].isLive else { continue }
      if found.count == limit { return (found, found.last.map { slots[$0].number } ?? 0) }
      found.append(low)
    }
    return (found, 0)
  }
}

extension OrderedKeys {
  /// Removes a key of a table without values.
  /// - Returns: whether it was there.
  mutating func removeMember(_ key: ByteString) -> Bool {
    guard remove(key) != nil else { return false }
    if isSparse { closeGaps() }
    return true
  }
}
