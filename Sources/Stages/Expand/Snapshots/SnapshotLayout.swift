/// How a snapshot's bytes lie. Numbers are little-endian.
///
///     8  writer     4  batch     1  kind
///     1  fields     2  bytes of their names
///        names: 1 length, bytes
///        values: 2 length (65,535: the profile has no such field), bytes
///     2  members
///        members: 2 length, bytes
///
/// One of the kind `unfit` ends behind it: this user is read as if there were no snapshots.
enum SnapshotLayout {
  static let batchOffset = 8
  static let kindOffset = 12
  static let fieldsOffset = 13
  static let nameBytesOffset = 14
  static let headBytes = 16
  /// Whose snapshot would be larger gets an unfit one: Redis keeps them beside sets and hashes, and
  /// a page of the largest shall be no more than pages are.
  static let maximumBytes = 1_024
  static let maximumFields = 64
  static let missing = UInt16.max

  enum Kind: UInt8 {
    case whole = 1
    case unfit = 2
  }
}

extension UnsafeRawBufferPointer {
  /// Unchecked: the caller has looked at `count`.
  @inline(__always)
  func little<Number: FixedWidthInteger>(_ offset: Int, as type: Number.Type) -> Number {
    Number(littleEndian: loadUnaligned(fromByteOffset: offset, as: type))
  }
}
