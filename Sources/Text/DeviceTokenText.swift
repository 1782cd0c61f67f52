/// A device token as phones, logs and old guides print it: `<aabbccdd eeff0011 …>`, in upper case,
/// with spaces, in quotes. Apple: never assume a size.
package enum DeviceTokenText {
  /// Why a text is no token. `rule` never holds the text: what is refused is told, and may be
  /// logged.
  package struct Refusal: Error, Equatable {
    package let rule: String
    /// The token that was meant, in hex, where the text says it in another way: for whoever gave
    /// the text, and for no log.
    package let hex: String?

    /// Behind the rule, for whoever gave the text: `; as hex it is …`, or nothing.
    package var hint: String { hex.map { "; as hex it is \($0)" } ?? "" }
  }

  /// 256 bytes: Apple's tokens of today have 32, those of Live Activities 80 and more.
  package static let maximumDigits = 512
  /// With the blanks of whatever printed it.
  private static let maximumTextBytes = 4 * maximumDigits

  /// Lower-case hex digits, an even number, 2…`maximumDigits`.
  package static func read(_ text: String) throws(Refusal) -> String {
    guard text.utf8.count <= maximumTextBytes else {
      throw Refusal(
        rule: "at most \(maximumDigits) hex digits, and has \(text.utf8.count) bytes", hex: nil)
    }
    var digits: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case 0x30...0x39, 0x61...0x66: digits.append(byte)
      case 0x41...0x46: digits.append(byte | 0x20)
      case _ where isDecoration(byte): continue
      default: throw refusal(of: text)
      }
    }
    guard !digits.isEmpty else { throw Refusal(rule: "hex digits, and is empty", hex: nil) }
    guard digits.count % 2 == 0 else {
      throw Refusal(rule: "an even number of hex digits, and has \(digits.count)", hex: nil)
    }
    guard digits.count <= maximumDigits else {
      throw Refusal(rule: "at most \(maximumDigits) hex digits, and has \(digits.count)", hex: nil)
    }
    return String(decoding: digits, as: UTF8.self)
  }

  /// Blanks, and what stands around a token that was printed.
  private static func isDecoration(_ byte: UInt8) -> Bool {
    " \t\n\r<>\"".utf8.contains(byte)
  }

  private static func refusal(of text: String) -> Refusal {
    // Since iOS 13 the description of the bytes, which old guides print, leaves some of them out.
    if text.contains("bytes = 0x") {
      return Refusal(
        rule: "hex digits, not the description of the bytes, which leaves some out: write each "
          + "byte with %02x", hex: nil)
    }
    if let bytes = base64(text) {
      return Refusal(rule: "hex digits, and looks like base64", hex: Hexadecimal.text(bytes))
    }
    return Refusal(rule: "hex digits, an even number of them", hex: nil)
  }

  /// Fewer bytes may be any word.
  private static let fewestEncodedBytes = 16

  /// Of either alphabet, with padding or without.
  private static func base64(_ text: String) -> [UInt8]? {
    let characters = text.utf8.filter { !isDecoration($0) }.map { byte -> UInt8 in
      switch byte {
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      default: byte
      }
    }
    let padding = characters.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    guard padding <= 2, let bytes = Base64URL.decode(characters.dropLast(padding)),
      bytes.count >= fewestEncodedBytes, 2 * bytes.count <= maximumDigits
    else { return nil }
    return bytes
  }
}
