/// How many terminal cells text takes. CJK and emoji take two, combining marks none.
package enum DisplayWidth {
  package static func cells(_ text: some StringProtocol) -> Int {
    text.reduce(0) { $0 + cells($1) }
  }

  package static func cells(_ character: Character) -> Int {
    if let ascii = character.asciiValue { return ascii < 0x20 || ascii == 0x7F ? 0 : 1 }
    var widest = 0
    for scalar in character.unicodeScalars {
      // Variation selector 16 asks for the emoji form, which is wide.
      widest = max(widest, scalar.value == 0xFE0F ? 2 : cells(scalar))
      if widest == 2 { break }
    }
    return widest
  }

  private static func cells(_ scalar: Unicode.Scalar) -> Int {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control, .surrogate, .lineSeparator,
      .paragraphSeparator:
      return 0
    default:
      return isWide(scalar.value) || scalar.properties.isEmojiPresentation ? 2 : 1
    }
  }

  /// East Asian Wide and Fullwidth (Unicode Standard Annex 11), in whole blocks; emoji are asked
  /// for by property.
  private static let wideRanges: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97C,
    0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60,
    0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F265, 0x20000...0x3FFFD,
  ]

  private static func isWide(_ value: UInt32) -> Bool {
    value >= 0x1100 && wideRanges.contains { $0.contains(value) }
  }
}
