/// The fields of a hash, in the order of insertion. A changed value keeps its position.
struct FieldTable: Sendable {
  private(set) var keys = OrderedKeys()
  private var values: [ByteString] = []

  var count: Int { keys.count }
  var isEmpty: Bool { keys.isEmpty }

  subscript(field: ByteString) -> ByteString? { keys.position(of: field).map { values[$0] } }

  /// In the order of insertion.
  var all: [(field: ByteString, value: ByteString)] { pairs(at: keys.livePositions) }

  func pairs(at positions: [Int]) -> [(field: ByteString, value: ByteString)] {
    positions.map { (keys.slots[$0].key, values[$0]) }
  }

  /// - Returns: true when the field is new.
  @discardableResult
  mutating func set(_ field: ByteString, _ value: ByteString) -> Bool {
    let (position, isNew) = keys.insert(field)
    if isNew { values.append(value) } else { values[position] = value }
    return isNew
  }

  /// - Returns: whether it was there.
  mutating func remove(_ field: ByteString) -> Bool {
    guard let position = keys.remove(field) else { return false }
    values[position] = ""
    if keys.isSparse {
      values = keys.livePositions.map { values[$0] }
      keys.closeGaps()
    }
    return true
  }
}

/// The entries of a server by their keys, in the order of insertion. A changed entry keeps its
/// position.
///
/// Lives share what they begin with: `freeze` makes it a base that copies never copy. A table with
/// a base holds what is new behind it, and what has changed of it.
struct EntryTable: Sendable {
  private final class Base: Sendable {
    let keys: OrderedKeys
    let values: [StoreEntry]

    init(_ keys: OrderedKeys, _ values: [StoreEntry]) {
      self.keys = keys
      self.values = values
    }
  }

  private var base: Base?
  /// How many positions are the base's: the first ones.
  private var baseCount = 0
  /// Positions of the base whose keys are gone.
  private var gone: Set<Int> = []
  /// Where in `changedValues` is what has changed, by its position in the base.
  private var changes: [Int: Int] = [:]
  private var changedValues: [StoreEntry] = []
  private var keys = OrderedKeys()
  private var values: [StoreEntry] = []

  var count: Int { (base?.keys.count ?? 0) - gone.count + keys.count }

  /// What it holds now is shared from now on by all that are copied from it.
  mutating func freeze() {
    guard base == nil else { return }
    base = Base(keys, values)
    baseCount = values.count
    keys = OrderedKeys(behind: keys)
    values = []
  }

  func position(of key: ByteString) -> Int? {
    if let base, let position = base.keys.position(of: key), !isGone(position) { return position }
    return keys.position(of: key).map { $0 + baseCount }
  }

  private func isGone(_ position: Int) -> Bool { !gone.isEmpty && gone.contains(position) }

  subscript(position position: Int) -> StoreEntry {
    get {
      guard let base, position < baseCount else { return values[position - baseCount] }
      guard let place = changes[position] else { return base.values[position] }
      return changedValues[place]
    }
    _modify {
      if position < baseCount {
        let place = placeOfChange(at: position)
        yield &changedValues[place]
      } else {
        yield &values[position - baseCount]
      }
    }
  }

  private mutating func placeOfChange(at position: Int) -> Int {
    if let place = changes[position] { return place }
    guard let base else { preconditionFailure("position \(position) is of no base") }
    changes[position] = changedValues.count
    changedValues.append(base.values[position])
    return changedValues.count - 1
  }

  /// When an entry ends; without a look at its value, which would be copied.
  func expiry(at position: Int) -> Int64? {
    guard let base, position < baseCount else { return values[position - baseCount].expiresAt }
    guard let place = changes[position] else { return base.values[position].expiresAt }
    return changedValues[place].expiresAt
  }

  mutating func set(_ key: ByteString, _ entry: StoreEntry) {
    if let position = position(of: key) {
      self[position: position] = entry
    } else {
      _ = keys.insert(key)
      values.append(entry)
    }
  }

  mutating func remove(_ key: ByteString) {
    guard let position = position(of: key) else { return }
    self[position: position] = StoreEntry(value: .none)
    guard position >= baseCount else {
      gone.insert(position)
      return
    }
    _ = keys.remove(key)
    if keys.isSparse {
      values = keys.livePositions.map { values[$0] }
      keys.closeGaps()
    }
  }

  /// In the order of insertion.
  var all: [(key: ByteString, entry: StoreEntry)] {
    names { _, _ in true }.compactMap { key in position(of: key).map { (key, self[position: $0]) } }
  }

  /// Those that are wanted, in the order of insertion.
  func names(where isWanted: (ByteString, Int) -> Bool) -> [ByteString] {
    var found: [ByteString] = []
    for (position, slot) in (base?.keys.slots ?? []).enumerated()
    where slot.isLive && !isGone(position) && isWanted(slot.key, position) {
      found.append(slot.key)
    }
    for (position, slot) in keys.slots.enumerated()
    where slot.isLive && isWanted(slot.key, position + baseCount) {
      found.append(slot.key)
    }
    return found
  }

  /// Up to `limit` keys behind a cursor, and the next cursor: 0 at the end.
  func page(after cursor: UInt64, limit: Int) -> (keys: [ByteString], next: UInt64) {
    var found: [OrderedKeys.Slot] = []
    if let base {
      for position in base.keys.start(after: cursor)..<baseCount
      where base.keys.slots[position].isLive && !isGone(position) {
        if found.count == limit { return (found.map(\.key), found[limit - 1].number) }
        found.append(base.keys.slots[position])
      }
    }
    for slot in keys.slots[keys.start(after: cursor)...] where slot.isLive {
      if found.count == limit { return (found.map(\.key), found[limit - 1].number) }
      found.append(slot)
    }
    return (found.map(\.key), 0)
  }
}
