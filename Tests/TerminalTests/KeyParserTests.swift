import Terminal
import Testing

@Suite struct KeyParserTests {
  private func keys(_ text: String) -> [Key] {
    var parser = KeyParser()
    return parser.take(text.utf8) + parser.decide()
  }

  @Test(arguments: [
    ("q", [Key.character("q")]), ("é中", [.character("é"), .character("中")]),
    ("\u{1B}[A\u{1B}OB", [.up, .down]), ("\u{1B}[5~\u{1B}[6~", [.pageUp, .pageDown]),
    ("\u{1B}[H\u{1B}[4~\u{1B}[1~", [.home, .end, .home]), ("\r\n\t", [.enter, .enter, .tab]),
    ("\u{7F}\u{08}", [.backspace, .backspace]), ("\u{03}\u{1A}", [.control("c"), .control("z")]),
    ("\u{1B}", [.escape]), ("\u{1B}q", [.escape, .character("q")]),
    // Shift and an arrow; a key that we have no name for.
    ("\u{1B}[1;2A\u{1B}[15~x", [.up, .character("x")]),
  ]) func keysByTheirBytes(text: String, expected: [Key]) {
    #expect(keys(text) == expected)
  }

  /// However the line cuts them.
  @Test func bytesMayComeOneByOne() {
    var parser = KeyParser()
    var found: [Key] = []
    for byte in "\u{1B}[A中\u{1B}[6~".utf8 { found += parser.take([byte]) }
    #expect(found == [.up, .character("中"), .pageDown])
    #expect(!parser.isUndecided)
  }

  @Test func nonsenseNeitherTrapsNorStays() {
    var parser = KeyParser()
    _ = parser.take([0x1B, 0x5B] + [UInt8](repeating: 0x31, count: 100))
    #expect(parser.take([UInt8(ascii: "q")]) == [.character("q")])
    for byte in UInt8.min ... .max {
      var fresh = KeyParser()
      _ = fresh.take([byte])
      _ = fresh.decide()
      #expect(fresh.take([UInt8(ascii: "q")]) == [.character("q")], "\(byte)")
    }
  }
}
