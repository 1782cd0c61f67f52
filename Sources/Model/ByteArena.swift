/// Bytes appended one behind the other and read by slice. A page of recipients or a batch of pushes
/// is one arena: nothing is allocated per recipient. Growing moves the bytes, so a pointer taken
/// from it is good only until the next append; a batch that is being sent is appended to no more.
///
/// The parts that change stand behind one constant pointer: each touch of a stored `var` of a class
/// is checked for exclusive access at run time, which was a third of the cost of rendering.
package final class ByteArena {
  private struct State {
    var base: UnsafeMutableRawPointer
    var count: Int
    var capacity: Int
  }

  private let state: UnsafeMutablePointer<State>

  /// A slice counts in 32 bits.
  package static let maximumBytes = Int(Int32.max)

  /// - Parameter capacity: bytes; at least 64 are taken.
  package init(capacity: Int = 4096) {
    let capacity = max(capacity, 64)
    state = .allocate(capacity: 1)
    state.initialize(
      to: State(
        base: .allocate(byteCount: capacity, alignment: 16), count: 0, capacity: capacity))
  }

  deinit {
    state.pointee.base.deallocate()
    state.deallocate()
  }

  /// Where slices count from; good until the next append.
  package var base: UnsafeMutableRawPointer { state.pointee.base }
  package var count: Int { state.pointee.count }
  package var capacity: Int { state.pointee.capacity }

  /// Makes room for `more` bytes behind the last. The arena holds at most `maximumBytes`: pages,
  /// batches and replies are bounded far below, so more is an error of ours and stops the process.
  package func reserve(_ more: Int) {
    if more > state.pointee.capacity - state.pointee.count { grow(by: more) }
  }

  private func grow(by more: Int) {
    let count = state.pointee.count
    precondition(more <= Self.maximumBytes - count, "an arena of more than 2 GiB")
    let capacity = min(max(state.pointee.capacity * 2, count + more), Self.maximumBytes)
    let grown = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    grown.copyMemory(from: state.pointee.base, byteCount: count)
    state.pointee.base.deallocate()
    state.pointee.base = grown
    state.pointee.capacity = capacity
  }

  /// Copies `bytes`, which must not be this arena's own: growing would free them.
  @discardableResult
  package func append(_ bytes: UnsafeRawBufferPointer) -> ByteSlice {
    reserve(bytes.count)
    let start = state.pointee.count
    if let source = bytes.baseAddress {
      (state.pointee.base + start).copyMemory(from: source, byteCount: bytes.count)
    }
    state.pointee.count = start + bytes.count
    return ByteSlice(offset: start, count: bytes.count)
  }

  @discardableResult
  package func append(_ bytes: [UInt8]) -> ByteSlice { bytes.withUnsafeBytes { append($0) } }

  @discardableResult
  package func append(utf8 text: String) -> ByteSlice {
    var text = text
    return text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  /// Lends room for up to `limit` bytes at the end; `body` returns how many it wrote and does not
  /// touch the arena.
  package func append(atMost limit: Int, _ body: (UnsafeMutableRawBufferPointer) -> Int)
    -> ByteSlice
  {
    reserve(limit)
    let start = state.pointee.count
    let written = body(
      UnsafeMutableRawBufferPointer(start: state.pointee.base + start, count: limit))
    precondition(written >= 0 && written <= limit, "more written than was lent")
    state.pointee.count = start + written
    return ByteSlice(offset: start, count: written)
  }

  /// Forgets every byte and keeps the room.
  package func removeAll() { state.pointee.count = 0 }

  /// Takes back everything appended after the arena held `count` bytes.
  package func truncate(to count: Int) {
    precondition(count >= 0 && count <= state.pointee.count)
    state.pointee.count = count
  }

  /// The bytes of a slice of this arena; none for `.missing`. Good until the next append.
  package subscript(slice: ByteSlice) -> UnsafeRawBufferPointer {
    let base = state.pointee.base
    guard slice.count > 0 else { return UnsafeRawBufferPointer(start: base, count: 0) }
    assert(Int(slice.offset) + Int(slice.count) <= state.pointee.count, "a slice of another arena")
    return UnsafeRawBufferPointer(start: base + Int(slice.offset), count: Int(slice.count))
  }

  /// The bytes of a slice as text; what is not UTF-8 becomes U+FFFD.
  package func string(_ slice: ByteSlice) -> String { String(decoding: self[slice], as: UTF8.self) }
}

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
