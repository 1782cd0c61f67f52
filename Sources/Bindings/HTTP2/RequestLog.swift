/// What a client said in one `receive`, until their owner has asked for it all: entries that count
/// no references, and their bytes behind each other in one block.
struct RequestLog {
  private enum Kind { case began, field, body, ended, closed }

  private struct Entry {
    let kind: Kind
    let slot: Int32
    /// The stream's identifier, its error code, or where a field's value begins behind its name.
    var number: UInt32 = 0
    var start = 0
    var count = 0
  }

  /// What is kept to be used again when everything has been asked for; more is given back.
  private static let keptBytes = 256 * 1024
  private static let keptEntries = 16_384
  /// Sixteen times what a socket gives at once, and as much again for the entries: compression
  /// makes two or three times as much of a request.
  private static let mostBytes = 4 << 20
  private static let mostEntries = mostBytes / MemoryLayout<Entry>.stride

  private var entries: [Entry] = []
  private var next = 0
  private var block: UnsafeMutablePointer<UInt8>
  private var capacity = 4096
  private var used = 0

  init() { block = .allocate(capacity: capacity) }

  /// No more fields are kept until what is here has been asked for. The bytes of a head may stand
  /// for a thousand times as many (RFC 7541, section 2.3.2); all else is bounded by what comes.
  var isFull: Bool { used > Self.mostBytes || entries.count > Self.mostEntries }

  func deallocate() { block.deallocate() }

  mutating func began(_ slot: Int, _ stream: Int32) {
    entries.append(
      Entry(kind: .began, slot: Int32(truncatingIfNeeded: slot), number: UInt32(bitPattern: stream))
    )
  }

  mutating func field(
    _ slot: Int, _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
  ) {
    entries.append(
      Entry(
        kind: .field, slot: Int32(truncatingIfNeeded: slot),
        number: UInt32(truncatingIfNeeded: name.count), start: used,
        count: name.count + value.count))
    append(name)
    append(value)
  }

  mutating func body(_ slot: Int, _ bytes: UnsafeBufferPointer<UInt8>) {
    entries.append(
      Entry(
        kind: .body, slot: Int32(truncatingIfNeeded: slot), start: used, count: bytes.count))
    append(bytes)
  }

  mutating func ended(_ slot: Int) {
    entries.append(Entry(kind: .ended, slot: Int32(truncatingIfNeeded: slot)))
  }

  mutating func closed(_ slot: Int, _ errorCode: UInt32) {
    entries.append(
      Entry(kind: .closed, slot: Int32(truncatingIfNeeded: slot), number: errorCode))
  }

  mutating func take() -> HTTP2Request? {
    guard next < entries.count else {
      forgetWhatWasHeard()
      return nil
    }
    let entry = entries[next]
    next += 1
    let slot = Int(entry.slot)
    let bytes = UnsafeRawBufferPointer(start: block + entry.start, count: entry.count)
    switch entry.kind {
    case .began: return .began(slot: slot, stream: Int32(bitPattern: entry.number))
    case .field:
      let nameCount = Int(entry.number)
      return .field(
        slot: slot, name: UnsafeRawBufferPointer(rebasing: bytes[..<nameCount]),
        value: UnsafeRawBufferPointer(rebasing: bytes[nameCount...]))
    case .body: return .body(slot: slot, bytes)
    case .ended: return .ended(slot: slot)
    case .closed: return .closed(slot: slot, errorCode: entry.number)
    }
  }

  private mutating func forgetWhatWasHeard() {
    entries.removeAll(keepingCapacity: entries.capacity <= Self.keptEntries)
    next = 0
    used = 0
    guard capacity > Self.keptBytes else { return }
    block.deallocate()
    capacity = Self.keptBytes
    block = .allocate(capacity: capacity)
  }

  private mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
    if used + bytes.count > capacity { grow(used + bytes.count) }
    if let base = bytes.baseAddress { (block + used).update(from: base, count: bytes.count) }
    used += bytes.count
  }

  private mutating func grow(_ wanted: Int) {
    capacity = max(wanted, capacity * 2)
    let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    grown.update(from: block, count: used)
    block.deallocate()
    block = grown
  }
}
