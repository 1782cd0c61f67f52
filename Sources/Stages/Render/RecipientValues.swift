import Model

/// The values of one recipient.
struct RecipientValues {
  let bytes: UnsafeRawPointer
  let row: UnsafePointer<ByteSlice>?
  let columns: UnsafePointer<Int32>?

  /// The value of a field of the template; no bytes when it is missing.
  @inline(__always)
  subscript(field: Int32) -> UnsafeRawBufferPointer {
    guard let row, let columns, columns[Int(field)] >= 0 else {
      return UnsafeRawBufferPointer(start: bytes, count: 0)
    }
    let slice = row[Int(columns[Int(field)])]
    guard slice.count > 0 else { return UnsafeRawBufferPointer(start: bytes, count: 0) }
    return UnsafeRawBufferPointer(start: bytes + Int(slice.offset), count: Int(slice.count))
  }
}
