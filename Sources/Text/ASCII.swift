/// Bytes as the characters of ASCII, whatever language is set.
extension UInt8 {
  @inlinable public var isASCIIDigit: Bool { self &- 0x30 < 10 }
  @inlinable public var isASCIIUpper: Bool { self &- 0x41 < 26 }
  @inlinable public var isASCIILower: Bool { self &- 0x61 < 26 }
  @inlinable public var isASCIILetter: Bool { (self | 0x20) &- 0x61 < 26 }
  @inlinable public var isASCIIWord: Bool { isASCIILetter || isASCIIDigit }
  @inlinable public var isASCIIHexDigit: Bool { isASCIIDigit || (self | 0x20) &- 0x61 < 6 }
  /// Visible or a space, and neither `"` nor `\`: it stands for itself, quoted or not.
  @inlinable public var isPlainASCII: Bool {
    self &- 0x20 < 0x5F && self != 0x22 && self != 0x5C
  }
  /// Visible, and no brace: braces mark the hash tag of a Redis key.
  @inlinable public var isSafeInKey: Bool { self &- 0x21 < 0x5E && self != 0x7B && self != 0x7D }
  /// `a` for `A`; every other byte stays.
  @inlinable public var asciiLowered: UInt8 { isASCIIUpper ? self | 0x20 : self }

  /// The hex digit, in lower case, of the last four bits.
  @inlinable public var lastHexDigit: UInt8 {
    let value = self & 0xF
    return value < 10 ? value &+ 0x30 : value &+ 0x57
  }

  /// 0…15; nil for what is no hex digit.
  @inlinable public var hexValue: UInt8? {
    if isASCIIDigit { return self &- 0x30 }
    return isASCIIHexDigit ? (self | 0x20) &- 0x57 : nil
  }
}

extension StringProtocol {
  /// Whether both are the same bytes but for the case of ASCII's letters. `lowercased()` also makes
  /// ASCII of other characters: the Kelvin sign becomes a `k`.
  package func isSame(ignoringASCIICaseOf other: some StringProtocol) -> Bool {
    utf8.elementsEqual(other.utf8) { $0.asciiLowered == $1.asciiLowered }
  }
}
