/// A dictionary that keeps the order of insertion: what Redis leaves open is decided here, always
/// in the same way. A changed value keeps its position. Each entry has a number that grows from one
/// insertion to the next, which makes a cursor: who goes on behind a number meets each entry once
/// that is there all the time, whatever comes and goes meanwhile.
struct OrderedTable<Value> {
  struct Slot {
    let key: ByteString
    var value: Value
    let number: UInt64
    var isLive = true
  }

  private var positions: [ByteString: Int] = [:]
  private(set) var slots: [Slot] = []
  private var nextNumber: UInt64 = 1

  var count: Int { positions.count }
  var isEmpty: Bool { positions.isEmpty }

  /// In the order of insertion.
  var live: some Sequence<Slot> { slots.lazy.filter(\.isLive) }

  func position(of key: ByteString) -> Int? { positions[key] }

  subscript(key: ByteString) -> Value? { positions[key].map { slots[$0].value } }

  subscript(position position: Int) -> Value {
    get { slots[position].value }
    _modify { yield &slots[position].value }
  }

  /// - Returns: true when the key is new.
  @discardableResult
  mutating func set(_ key: ByteString, _ value: Value) -> Bool {
    if let position = positions[key] {
      slots[position].value = value
      return false
    }
    positions[key] = slots.count
    slots.append(Slot(key: key, value: value, number: nextNumber))
    nextNumber += 1
    return true
  }

  /// - Returns: the value that went; nil when there was none.
  @discardableResult
  mutating func remove(_ key: ByteString) -> Value? {
    guard let position = positions.removeValue(forKey: key) else { return nil }
    let value = slots[position].value
    slots[position].isLive = false
    if slots.count > 16, slots.count > 2 * positions.count { compact() }
    return value
  }

  private mutating func compact() {
    slots.removeAll { !$0.isLive }
    for (position, slot) in slots.enumerated() { positions[slot.key] = position }
  }

  /// Up to `limit` entries behind a cursor, and the next cursor: 0 at the end.
  func page(after cursor: UInt64, limit: Int) -> (slots: [Slot], next: UInt64) {
    var low = 0
    var high = slots.count
    while low < high {
      let middle = (low + high) / 2
      if slots[middle].number > cursor { high = middle } else { low = middle + 1 }
    }
    var found: [Slot] = []
    while low < slots.count {
      let slot = slots[low]
      low += 1
      guard slot.isLive else { continue }
      if found.count == limit { return (found, found.last?.number ?? 0) }
      found.append(slot)
    }
    return (found, 0)
  }
}

extension OrderedTable: Sendable where Value: Sendable {}
extension OrderedTable.Slot: Sendable where Value: Sendable {}
