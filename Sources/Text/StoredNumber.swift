/// Whole numbers as stores hold them, whoever wrote them.
package enum StoredNumber {
  /// A few of them can be added and subtracted without overflow.
  package static let greatest: Int64 = 1 << 52

  /// Brought within `-greatest ... greatest`; nil for a text that is no whole number of 64 bits.
  package static func read(_ text: String) -> Int64? {
    Int64(text).map { min(max($0, -greatest), greatest) }
  }
}
