/// Bytes as the characters of ASCII, whatever language is set.
extension UInt8 {
  @inlinable package var isASCIIDigit: Bool { self &- 0x30 < 10 }
  @inlinable package var isASCIIUpper: Bool { self &- 0x41 < 26 }
  @inlinable package var isASCIILower: Bool { self &- 0x61 < 26 }
  @inlinable package var isASCIILetter: Bool { (self | 0x20) &- 0x61 < 26 }
  @inlinable package var isASCIIWord: Bool { isASCIILetter || isASCIIDigit }
  @inlinable package var isASCIIHexDigit: Bool { isASCIIDigit || (self | 0x20) &- 0x61 < 6 }
  /// `a` for `A`; every other byte stays.
  @inlinable package var asciiLowered: UInt8 { isASCIIUpper ? self | 0x20 : self }

  /// 0…15; nil for what is no hex digit.
  @inlinable package var hexValue: UInt8? {
    if isASCIIDigit { return self &- 0x30 }
    return isASCIIHexDigit ? (self | 0x20) &- 0x57 : nil
  }
}
