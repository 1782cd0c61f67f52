/// A set of ASCII characters that is asked for each byte of a head.
struct ByteSet {
  private let low: UInt64
  private let high: UInt64

  init(_ characters: String) {
    var (low, high): (UInt64, UInt64) = (0, 0)
    for byte in characters.utf8 {
      if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte & 63) }
    }
    self.low = low
    self.high = high
  }

  func contains(_ byte: UInt8) -> Bool {
    guard byte < 128 else { return false }
    return (byte < 64 ? low : high) >> UInt64(byte & 63) & 1 == 1
  }

  private static let words = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

  /// RFC 9110, section 5.6.2: of methods and names of fields.
  static let token = ByteSet(words + "!#$%&'*+-.^_`|~")
  /// RFC 3986, sections 3.3 and 3.4: of a path and what stands behind its `?`.
  static let target = ByteSet(words + "-._~!$&'()*+,;=:@/?%")
  /// RFC 3986, section 3.2, without whom it logs in, and without the comma: several hosts would be
  /// joined by it.
  static let authority = ByteSet(words + "-._~!$&'()*+;=:%[]")
}
