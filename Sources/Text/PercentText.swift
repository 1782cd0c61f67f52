/// Percent-encoding (RFC 3986, section 2.1).
package enum PercentText {
  /// - Parameters:
  ///   - isStrict: nil is returned when an escape is none; else its `%` stands for itself.
  ///   - isForm: a plus sign is a space.
  package static func decoded(
    _ bytes: UnsafeRawBufferPointer, isStrict: Bool, isForm: Bool = false
  ) -> [UInt8]? {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(bytes.count)
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      if byte == UInt8(ascii: "%") {
        if index + 2 < bytes.count, let high = bytes[index + 1].hexValue,
          let low = bytes[index + 2].hexValue
        {
          decoded.append(high << 4 | low)
          index += 3
          continue
        }
        guard !isStrict else { return nil }
      }
      decoded.append(isForm && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      index += 1
    }
    return decoded
  }

  /// A value as the query of an address takes it: all is escaped but what RFC 3986 calls
  /// unreserved, colons and slashes.
  package static func encoded(_ text: String) -> String {
    var encoded: [UInt8] = []
    for byte in text.utf8 {
      if byte.isASCIIWord || "-._~:/".utf8.contains(byte) {
        encoded.append(byte)
      } else {
        encoded += [UInt8(ascii: "%"), Self.digit(byte >> 4), Self.digit(byte & 15)]
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }
}
