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
