/// RFC 4648, section 4, with padding: what HTTP's Basic credentials are written in.
package enum Base64 {
  package static func encode(_ bytes: [UInt8]) -> String {
    let text = Base64URL.encode(bytes).utf8.map { character -> UInt8 in
      switch character {
      case UInt8(ascii: "-"): UInt8(ascii: "+")
      case UInt8(ascii: "_"): UInt8(ascii: "/")
      default: character
      }
    }
    let padding = [UInt8](repeating: UInt8(ascii: "="), count: (4 - text.count % 4) % 4)
    return String(decoding: text + padding, as: UTF8.self)
  }
}
