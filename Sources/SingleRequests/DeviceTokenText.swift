/// A device token as phones, logs and old guides print it: `<aabbccdd eeff0011 …>`, in upper case,
/// with spaces, in quotes. Apple: never assume a size.
package enum DeviceTokenText {
  /// Lower-case hex digits; nil when there is anything in it that no token has.
  package static func token(_ text: String) -> String? {
    var digits: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case 0x30...0x39, 0x61...0x66: digits.append(byte)
      case 0x41...0x46: digits.append(byte | 0x20)
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"),
        UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""):
        continue
      default: return nil
      }
    }
    guard !digits.isEmpty, digits.count % 2 == 0 else { return nil }
    return String(decoding: digits, as: UTF8.self)
  }
}
