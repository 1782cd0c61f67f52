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
