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

  // MARK: whole commands

  // hiredis would allocate each command, to be copied from there and freed.

  /// Redis's own bound of one argument (`proto-max-bulk-len`).
  static let maximumBytes = 512 << 20
  /// Of `*` or `$`, a number, and the ends of two lines.
  private static let headBytes = 25

  /// One command as Redis reads it. False, and nothing is added, when there are no arguments, or
  /// when they are over `maximumBytes` together.
  mutating func append(_ arguments: [String]) -> Bool {
    guard begin(arguments.count, arguments.reduce(0) { $0 + $1.utf8.count }) else { return false }
    for var argument in arguments {
      argument.withUTF8 { appendReserved(argument: UnsafeRawBufferPointer($0)) }
    }
    return true
  }

  /// As above, for arguments that are not text.
  mutating func append(_ arguments: [UnsafeRawBufferPointer]) -> Bool {
    guard begin(arguments.count, arguments.reduce(0) { $0 + $1.count }) else { return false }
    for argument in arguments { appendReserved(argument: argument) }
    return true
  }

  private mutating func begin(_ arguments: Int, _ total: Int) -> Bool {
    guard arguments > 0, total <= Self.maximumBytes else { return false }
    reserve(total + Self.headBytes * (arguments + 1))
    appendReserved(UInt8(ascii: "*"))
    appendReserved(decimal: arguments)
    appendLineEnd()
    return true
  }

  private mutating func appendReserved(argument: UnsafeRawBufferPointer) {
    appendReserved(UInt8(ascii: "$"))
    appendReserved(decimal: argument.count)
    appendLineEnd()
    appendReserved(argument)
    appendLineEnd()
  }

  private mutating func appendReserved(_ byte: UInt8) {
    base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    count += 1
  }

  private mutating func appendLineEnd() {
    appendReserved(0x0D)
    appendReserved(0x0A)
  }
}
