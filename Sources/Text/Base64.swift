/// RFC 4648, section 4, with padding: what HTTP's Basic credentials are written in, and bytes in
/// JSON.
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

  /// With or without padding. Nil for any other character, line ends among them.
  package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    var rest = Array(text)
    if rest.count % 4 == 0 {
      for _ in 0..<2 where rest.last == UInt8(ascii: "=") { rest.removeLast() }
    }
    for index in rest.indices {
      switch rest[index] {
      case UInt8(ascii: "+"): rest[index] = UInt8(ascii: "-")
      case UInt8(ascii: "/"): rest[index] = UInt8(ascii: "_")
      case UInt8(ascii: "-"), UInt8(ascii: "_"): return nil
      default: break
      }
    }
    return Base64URL.decode(rest)
  }
}
