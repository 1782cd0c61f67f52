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
}
