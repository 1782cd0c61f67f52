import Text

/// How a device token is shown: `tok:` and 8 hex digits of a keyed hash. The same token has the
/// same label, no label leads back to its token.
package struct TokenLabel: Sendable, Hashable, CustomStringConvertible {
  private let value: UInt32

  /// - Parameter token: its hex digits as text; upper case counts as lower.
  package init(_ token: UnsafeRawBufferPointer, key: TokenLabelKey) {
    let lowered = token.map(\.asciiLowered)
    value = lowered.withUnsafeBytes {
      UInt32(truncatingIfNeeded: SipHash.hash($0, key: key.words) >> 32)
    }
  }

  package init(_ token: String, key: TokenLabelKey) {
    var token = token
    self = token.withUTF8 { TokenLabel(UnsafeRawBufferPointer($0), key: key) }
  }

  package var description: String { "tok:" + Hexadecimal.text(value, digits: 8) }
}

/// The key that labels are made with. One per deployment, so that the labels of all its workers
/// agree and say nothing elsewhere.
package struct TokenLabelKey: Sendable {
  let words: (UInt64, UInt64)

  /// For a process that was given none: its labels agree among themselves only.
  package static func random() -> TokenLabelKey {
    var generator = SystemRandomNumberGenerator()
    return TokenLabelKey(words: (generator.next(), generator.next()))
  }

  /// From a secret of any length, such as a file's content.
  package init(secret: [UInt8]) {
    words = secret.withUnsafeBytes {
      (
        SipHash.hash($0, key: (0x746F_6B65_6E00_0001, 0x6C61_6265_6C00_0001)),
        SipHash.hash($0, key: (0x746F_6B65_6E00_0002, 0x6C61_6265_6C00_0002))
      )
    }
  }

  init(words: (UInt64, UInt64)) { self.words = words }

  /// A secret for `init(secret:)` of 128 bits, as 32 hex digits.
  package static func randomSecret() -> String {
    let words = random().words
    return Hexadecimal.text(words.0, digits: 16) + Hexadecimal.text(words.1, digits: 16)
  }

  /// 16 hex digits that name a token among others of the same key, and lead nobody back to it.
  package func digest(_ token: UnsafeRawBufferPointer) -> String {
    Hexadecimal.text(SipHash.hash(token, key: words), digits: 16)
  }
}
