import Text

/// An attribute of CloudEvents as their HTTP binding has it in a header (section 3.1.3.2): perhaps
/// in double quotes, and percent-encoded.
enum AttributeText {
  /// Bytes that should be UTF-8. What is no encoding stands for itself.
  static func decoded(_ text: String) -> [UInt8] {
    let bytes = unquoted(Array(text.utf8))
    return bytes.withUnsafeBytes { PercentText.decoded($0, isStrict: false) } ?? bytes
  }

  private static func unquoted(_ bytes: [UInt8]) -> [UInt8] {
    let quote = UInt8(ascii: "\"")
    guard bytes.count >= 2, bytes.first == quote, bytes.last == quote else { return bytes }
    var plain: [UInt8] = []
    var isEscaped = false
    for byte in bytes.dropFirst().dropLast() {
      if byte == UInt8(ascii: "\\"), !isEscaped {
        isEscaped = true
      } else {
        plain.append(byte)
        isEscaped = false
      }
    }
    return plain
  }
}
