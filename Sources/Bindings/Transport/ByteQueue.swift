/// Bytes that wait for the socket, first in first out, in one buffer.
struct ByteQueue {
  private var storage: UnsafeMutableRawBufferPointer
  private var start = 0
  private var end = 0

  init(capacity: Int = 32 * 1024) { storage = .allocate(byteCount: capacity, alignment: 16) }

  /// The owner calls this once, when it goes.
  func deallocate() { storage.deallocate() }

  var count: Int { end - start }
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: storage[start..<end]) }

  mutating func append(_ more: UnsafeRawBufferPointer) {
    if end + more.count > storage.count { makeRoom(more.count) }
    UnsafeMutableRawBufferPointer(rebasing: storage[end..<end + more.count]).copyMemory(from: more)
    end += more.count
  }

  mutating func consume(_ taken: Int) {
    start += taken
    if start == end { removeAll() }
  }

  mutating func removeAll() {
    start = 0
    end = 0
  }

  private mutating func makeRoom(_ more: Int) {
    let used = count
    let needed = used + more
    if needed <= storage.count / 2 {
      storage.copyMemory(from: bytes)
    } else {
      let grown = UnsafeMutableRawBufferPointer.allocate(byteCount: needed * 2, alignment: 16)
      grown.copyMemory(from: bytes)
      storage.deallocate()
      storage = grown
    }
    start = 0
    end = used
  }
}
