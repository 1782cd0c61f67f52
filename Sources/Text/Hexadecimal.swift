/// Bytes as hexadecimal digits, two each.
package enum Hexadecimal {
  /// In lower case.
  package static func text(_ bytes: some Collection<UInt8>) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(2 * bytes.count)
    for byte in bytes {
      text.append((byte >> 4).lastHexDigit)
      text.append(byte.lastHexDigit)
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Nil for any other character, and for an odd number of digits.
  package static func bytes(_ text: some Collection<UInt8>) -> [UInt8]? {
    guard text.count % 2 == 0 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 2)
    var high: UInt8?
    for character in text {
      guard let value = character.hexValue else { return nil }
      if let first = high {
        bytes.append(first << 4 | value)
        high = nil
      } else {
        high = value
      }
    }
    return bytes
  }
}

extension Hexadecimal {
  /// A number of at least so many digits, in lower case.
  package static func text(_ number: some UnsignedInteger, digits: Int) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
  }

  /// As above, of one that is not negative.
  package static func text(_ number: Int, digits: Int) -> String {
    text(number.magnitude, digits: digits)
  }
}
