/// RFC 4648, section 5, without padding: what JSON Web Tokens are written in.
package enum Base64URL {
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  private static let values: [UInt8] = {
    var values = [UInt8](repeating: 0xFF, count: 256)
    for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
    return values
  }()

  package static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count * 4 + 2) / 3)
    var accumulator: UInt32 = 0
    var bits = 0
    for byte in bytes {
      accumulator = accumulator << 8 | UInt32(byte)
      bits += 8
      while bits >= 6 {
        bits -= 6
        text.append(alphabet[Int(accumulator >> UInt32(bits) & 0x3F)])
      }
    }
    if bits > 0 { text.append(alphabet[Int(accumulator << UInt32(6 - bits) & 0x3F)]) }
    return String(decoding: text, as: UTF8.self)
  }

  /// As below, into memory that holds three bytes for each four characters.
  /// - Returns: how many bytes there are.
  package static func decode(
    _ text: UnsafeRawBufferPointer, to bytes: UnsafeMutableRawPointer
  ) -> Int? {
    values.withUnsafeBufferPointer { values in
      var count = 0
      var accumulator: UInt32 = 0
      var bits = 0
      for character in text {
        let value = values[Int(character)]
        guard value != 0xFF else { return nil }
        accumulator = accumulator << 6 | UInt32(value)
        bits += 6
        if bits >= 8 {
          bits -= 8
          bytes.storeBytes(
            of: UInt8(truncatingIfNeeded: accumulator >> UInt32(bits)), toByteOffset: count,
            as: UInt8.self)
          count += 1
        }
      }
      let rest = accumulator & ((1 << UInt32(bits)) - 1)
      return bits < 6 && rest == 0 ? count : nil
    }
  }

  /// Nil for any other character, for a length that cannot be, and for set bits beyond the end.
  package static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
    Array(text).withUnsafeBytes { text in
      var isDecoded = false
      let bytes = [UInt8](unsafeUninitializedCapacity: text.count * 3 / 4 + 1) { bytes, count in
        guard let start = bytes.baseAddress, let found = decode(text, to: start) else { return }
        (count, isDecoded) = (found, true)
      }
      return isDecoded ? bytes : nil
    }
  }
}
