/// A range of bytes in a `ByteArena`.
package struct ByteSlice: Sendable, Equatable {
  package var offset: Int32
  package var count: Int32

  package init(offset: Int, count: Int) {
    self.offset = Int32(truncatingIfNeeded: offset)
    self.count = Int32(truncatingIfNeeded: count)
  }

  /// Stands for a value that is not there, as opposed to an empty one.
  package static let missing = ByteSlice(offset: 0, count: -1)
  package var isMissing: Bool { count < 0 }

  /// The last `suffix` bytes of this range.
  package func last(_ suffix: Int) -> ByteSlice {
    ByteSlice(offset: Int(offset) + Int(count) - suffix, count: suffix)
  }
}

/// Bytes appended one behind the other and read by slice. A page of recipients or a batch of pushes is one
/// arena: nothing is allocated per recipient. Growing moves the bytes, so a pointer taken from it is good
/// only until the next append; a batch that is being sent is appended to no more.
package final class ByteArena {
  package private(set) var base: UnsafeMutableRawPointer
  package private(set) var count = 0
  package private(set) var capacity: Int

  package init(capacity: Int = 4096) {
    self.capacity = max(capacity, 64)
    base = .allocate(byteCount: self.capacity, alignment: 16)
  }

  deinit { base.deallocate() }

  package func reserve(_ more: Int) {
    guard count + more > capacity else { return }
    let newCapacity = max(capacity * 2, count + more)
    let grown = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 16)
    grown.copyMemory(from: base, byteCount: count)
    base.deallocate()
    base = grown
    capacity = newCapacity
  }

  @discardableResult
  package func append(_ bytes: UnsafeRawBufferPointer) -> ByteSlice {
    reserve(bytes.count)
    if let source = bytes.baseAddress {
      (base + count).copyMemory(from: source, byteCount: bytes.count)
    }
    defer { count += bytes.count }
    return ByteSlice(offset: count, count: bytes.count)
  }

  @discardableResult
  package func append(_ bytes: [UInt8]) -> ByteSlice { bytes.withUnsafeBytes { append($0) } }

  @discardableResult
  package func append(utf8 text: String) -> ByteSlice {
    var text = text
    return text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  /// Lends room for up to `limit` bytes at the end; `body` returns how many it wrote.
  package func append(atMost limit: Int, _ body: (UnsafeMutableRawBufferPointer) -> Int)
    -> ByteSlice
  {
    reserve(limit)
    let written = body(UnsafeMutableRawBufferPointer(start: base + count, count: limit))
    precondition(written >= 0 && written <= limit, "more written than was lent")
    defer { count += written }
    return ByteSlice(offset: count, count: written)
  }

  package func removeAll() { count = 0 }

  /// Takes back everything appended after the arena held `count` bytes.
  package func truncate(to count: Int) {
    precondition(count <= self.count)
    self.count = count
  }

  package subscript(slice: ByteSlice) -> UnsafeRawBufferPointer {
    guard slice.count > 0 else { return UnsafeRawBufferPointer(start: base, count: 0) }
    return UnsafeRawBufferPointer(start: base + Int(slice.offset), count: Int(slice.count))
  }

  package func string(_ slice: ByteSlice) -> String { String(decoding: self[slice], as: UTF8.self) }
}
