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
    /// Of the key; 0 as long as there are no `buckets`.
    fileprivate(set) var hash: UInt32 = 0
    fileprivate(set) var isLive = true
  }

  /// Positions and 1, at the places that the keys' hashes say, or behind them; 0: none. A power of
  /// two, at least twice as many as slots. A few keys are found without.
  private var buckets: [UInt32] = []
  private(set) var slots: [Slot] = []
  private(set) var count = 0
  private var nextNumber: UInt64 = 1

  private static let few = 8

  init() {}

  /// Empty, of keys that come behind those of another.
  init(behind other: OrderedKeys) { nextNumber = other.nextNumber }

  var isEmpty: Bool { count == 0 }

  func position(of key: ByteString) -> Int? {
    guard !buckets.isEmpty else { return slots.firstIndex { $0.isLive && $0.key == key } }
    let hash = key.shortHash
    var place = Int(hash) & (buckets.count - 1)
    while buckets[place] > 0 {
      let position = Int(buckets[place]) - 1
      if slots[position].hash == hash, slots[position].isLive, slots[position].key == key {
        return position
      }
      place = (place + 1) & (buckets.count - 1)
    }
    return nil
  }

  private mutating func note(_ position: Int) {
    var place = Int(slots[position].hash) & (buckets.count - 1)
    while buckets[place] > 0 { place = (place + 1) & (buckets.count - 1) }
    buckets[place] = UInt32(position + 1)
  }

  private mutating func fillBuckets() {
    guard slots.count > Self.few else {
      buckets = []
      return
    }
    var wanted = 4 * Self.few
    while wanted < 3 * slots.count { wanted *= 2 }
    buckets = Array(repeating: 0, count: wanted)
    for position in slots.indices {
      slots[position].hash = slots[position].key.shortHash
      note(position)
    }
  }

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
    if let position = position(of: key) { return (position, false) }
    slots.append(Slot(key: key, number: nextNumber))
    nextNumber += 1
    count += 1
    if slots.count * 2 > buckets.count {
      fillBuckets()
    } else {
      slots[slots.count - 1].hash = key.shortHash
      note(slots.count - 1)
    }
    return (slots.count - 1, true)
  }

  /// - Returns: where it was; nil: it was not there.
  mutating func remove(_ key: ByteString) -> Int? {
    guard let position = position(of: key) else { return nil }
    slots[position].isLive = false
    count -= 1
    return position
  }

  var isSparse: Bool { slots.count > 16 && slots.count > 2 * count }

  /// Closes gaps: what was at the `livePositions` is at 0, 1, 2 and so on.
  mutating func closeGaps() {
    slots.removeAll { !$0.isLive }
    fillBuckets()
  }

  /// The first position behind a cursor.
  func start(after cursor: UInt64) -> Int {
    var low = 0
    var high = slots.count
    while low < high {
      let middle = (low + high) / 2
      if slots[middle].number > cursor { high = middle } else { low = middle + 1 }
    }
    return low
  }

  /// Where up to `limit` keys behind a cursor are, and the next cursor: 0 at the end.
  func page(after cursor: UInt64, limit: Int) -> (positions: [Int], next: UInt64) {
    var low = start(after: cursor)
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
