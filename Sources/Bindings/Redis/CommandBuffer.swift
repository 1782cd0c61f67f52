import CHiredis

/// Bytes of commands one behind the other, in one growing buffer.
struct CommandBuffer: ~Copyable {
  private(set) var base: UnsafeMutableRawPointer
  private(set) var count = 0
  private var capacity: Int

  init(capacity: Int) {
    self.capacity = max(capacity, 64)
    base = .allocate(byteCount: self.capacity, alignment: 16)
  }

  deinit { base.deallocate() }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

  mutating func removeAll() { count = 0 }

  @inline(__always)
  mutating func reserve(_ more: Int) {
    if count + more > capacity { grow(more) }
  }

  @inline(never)
  private mutating func grow(_ more: Int) {
    let newCapacity = max(capacity * 2, count + more)
    let grown = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 16)
    grown.copyMemory(from: base, byteCount: count)
    base.deallocate()
    base = grown
    capacity = newCapacity
  }

  /// The caller has reserved the room.
  @inline(__always)
  mutating func appendReserved(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress else { return }
    (base + count).copyMemory(from: source, byteCount: bytes.count)
    count += bytes.count
  }

  /// The caller has reserved 20 bytes.
  @inline(__always)
  mutating func appendReserved(decimal value: Int) {
    var digits = 1
    var rest = value
    while rest >= 10 {
      rest /= 10
      digits += 1
    }
    rest = value
    var position = count + digits
    count = position
    repeat {
      position -= 1
      base.storeBytes(
        of: UInt8(truncatingIfNeeded: 0x30 + rest % 10), toByteOffset: position, as: UInt8.self)
      rest /= 10
    } while rest > 0
  }
}

enum CommandFormat {
  /// Redis's own bound of one argument (`proto-max-bulk-len`).
  static let maximumBytes = 512 << 20

  /// Formats one command with hiredis and lends the result. False when there are no arguments, when
  /// they are over `maximumBytes` together, or when there is no memory.
  static func withFormatted(
    _ arguments: [UnsafeRawBufferPointer], _ body: (UnsafeRawBufferPointer) -> Void
  ) -> Bool {
    let total = arguments.reduce(0) { $0 + $1.count }
    guard !arguments.isEmpty, total <= maximumBytes else { return false }
    var pointers = arguments.map { $0.baseAddress?.assumingMemoryBound(to: CChar.self) }
    let lengths = arguments.map { $0.count }
    var formatted: UnsafeMutablePointer<CChar>?
    let length = redisFormatCommandArgv(&formatted, Int32(arguments.count), &pointers, lengths)
    guard let formatted else { return false }
    defer { redisFreeCommand(formatted) }
    guard length > 0 else { return false }
    body(UnsafeRawBufferPointer(start: formatted, count: Int(length)))
    return true
  }

  /// As above for texts.
  static func withFormatted(
    _ arguments: [String], _ body: (UnsafeRawBufferPointer) -> Void
  ) -> Bool {
    var joined: [UInt8] = []
    var ends: [Int] = []
    for argument in arguments {
      joined.append(contentsOf: argument.utf8)
      ends.append(joined.count)
    }
    return joined.withUnsafeBytes { bytes in
      var start = 0
      let slices = ends.map { end in
        defer { start = end }
        return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
      }
      return withFormatted(slices, body)
    }
  }
}
