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
struct EntryTable: Sendable {
  private(set) var keys = OrderedKeys()
  private var values: [StoreEntry] = []

  var count: Int { keys.count }

  func position(of key: ByteString) -> Int? { keys.position(of: key) }

  subscript(position position: Int) -> StoreEntry {
    get { values[position] }
    _modify { yield &values[position] }
  }

  /// When an entry ends; without a look at its value, which would be copied.
  func expiry(at position: Int) -> Int64? { values[position].expiresAt }

  /// In the order of insertion.
  var all: [(key: ByteString, entry: StoreEntry)] {
    keys.livePositions.map { (keys.slots[$0].key, values[$0]) }
  }

  mutating func set(_ key: ByteString, _ entry: StoreEntry) {
    let (position, isNew) = keys.insert(key)
    if isNew { values.append(entry) } else { values[position] = entry }
  }

  mutating func remove(_ key: ByteString) {
    guard let position = keys.remove(key) else { return }
    values[position] = StoreEntry(value: .none)
    if keys.isSparse {
      values = keys.livePositions.map { values[$0] }
      keys.closeGaps()
    }
  }
}
