/// Immutable bytes at a fixed address for as long as the object lives: nghttp2 may borrow them.
package final class StableBytes: Sendable {
  private let address: UInt
  private let count: Int

  package init(_ text: String) {
    let bytes = Array(text.utf8)
    let memory = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(bytes.count, 1), alignment: 1)
    memory.copyBytes(from: bytes)
    address = UInt(bitPattern: memory.baseAddress)
    count = bytes.count
  }

  deinit { UnsafeMutableRawPointer(bitPattern: address)?.deallocate() }

  package var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: address), count: count)
  }
}
