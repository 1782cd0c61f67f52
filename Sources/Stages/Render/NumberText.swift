/// Text that may stand as a number in JSON.
enum NumberText {
  /// Any reader of JSON takes 15 digits exactly, whatever it holds numbers in (RFC 8259, 6).
  static let maximumDigits = 15

  /// A number as JSON spells it: an optional minus, digits without a leading zero, and unless it
  /// `isWhole` perhaps a point and digits; no exponent.
  static func isNumber(_ bytes: UnsafeRawBufferPointer, isWhole: Bool) -> Bool {
    let start = bytes.first == UInt8(ascii: "-") ? 1 : 0
    let point = end(ofDigits: bytes, from: start)
    guard (1...maximumDigits).contains(point - start) else { return false }
    if bytes[start] == UInt8(ascii: "0") && point - start > 1 { return false }
    if point == bytes.count { return true }
    guard !isWhole, bytes[point] == UInt8(ascii: ".") else { return false }
    let end = end(ofDigits: bytes, from: point + 1)
    return end == bytes.count && (1...maximumDigits).contains(end - point - 1)
  }

  static func isNumber(_ text: String, isWhole: Bool) -> Bool {
    var text = text
    return text.withUTF8 { isNumber(UnsafeRawBufferPointer($0), isWhole: isWhole) }
  }

  /// Digits without a leading zero, perhaps behind a minus, within 64 bits.
  static func isInteger(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let start = bytes.first == UInt8(ascii: "-") ? 1 : 0
    let count = end(ofDigits: bytes, from: start) - start
    guard count >= 1, start + count == bytes.count,
      count == 1 || bytes[start] != UInt8(ascii: "0")
    else { return false }
    if count < maximum.count { return true }
    guard count == maximum.count else { return false }
    // The smallest is one beyond the largest: -9223372036854775808.
    for index in 0..<count where bytes[start + index] != maximum[index] {
      let isLast = start == 1 && index == count - 1
      return bytes[start + index] < maximum[index] + (isLast ? 2 : 0)
    }
    return true
  }

  private static let maximum = Array(String(Int64.max).utf8)

  @inline(__always)
  private static func end(ofDigits bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
    var end = start
    while end < bytes.count, bytes[end] &- UInt8(ascii: "0") < 10 { end += 1 }
    return end
  }
}
