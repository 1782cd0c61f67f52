/// Text of a profile that may stand as a number in JSON.
enum IntegerText {
  /// Any reader of JSON takes 15 digits exactly, whatever it holds numbers in (RFC 8259, 6).
  static let maximumDigits = 15

  /// An integer as JSON spells it: an optional minus, digits, no leading zero.
  static func isInteger(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let isNegative = bytes.first == UInt8(ascii: "-")
    let digits = bytes.dropFirst(isNegative ? 1 : 0)
    guard let first = digits.first, digits.count <= maximumDigits else { return false }
    if first == UInt8(ascii: "0") && digits.count > 1 { return false }
    return digits.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
  }
}
