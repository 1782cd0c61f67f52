import Testing
import Text

/// Every byte, against the letters and digits themselves.
@Suite struct ASCIITests {
  @Test func knowsEachByte() {
    for byte in UInt8.min ... .max {
      let digit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      let upper = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
      let lower = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
      #expect(byte.isASCIIDigit == digit && byte.isASCIIUpper == upper, "\(byte)")
      #expect(byte.isASCIILower == lower && byte.isASCIILetter == (upper || lower), "\(byte)")
      #expect(byte.isASCIIWord == (digit || upper || lower), "\(byte)")
      #expect(
        byte.isSafeInKey == (byte > 0x20 && byte < 0x7F && !"{}".utf8.contains(byte)), "\(byte)")
      #expect(byte.isASCIIHexDigit == "0123456789abcdefABCDEF".utf8.contains(byte), "\(byte)")
      #expect(byte.asciiLowered == (upper ? byte + 32 : byte), "\(byte)")
    }
  }

  @Test func readsHexDigits() {
    for (value, character) in "0123456789abcdef".utf8.enumerated() {
      #expect(character.hexValue == UInt8(value))
    }
    for (value, character) in "ABCDEF".utf8.enumerated() {
      #expect(character.hexValue == UInt8(value + 10))
    }
    for character in "gG/:@`\u{7F}".utf8 { #expect(character.hexValue == nil) }
  }
}
