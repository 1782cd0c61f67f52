import Testing

@testable import Devices

@Suite struct ImportLinesTests {
  private static func lines(_ pieces: [String], maximum: Int = 100) -> [String] {
    var lines = ImportLines(maximumLineBytes: maximum)
    var found: [String] = []
    func add(_ line: ImportLine?) -> Bool {
      switch line {
      case .text(let bytes)?:
        found.append("\(lines.number):\(String(decoding: bytes, as: UTF8.self))")
      case .tooLong?: found.append("\(lines.number):too long")
      case nil: return false
      }
      return true
    }
    for piece in pieces {
      lines.append(Array(piece.utf8))
      while add(lines.next()) {}
    }
    _ = add(lines.last())
    return found
  }

  /// However it comes in pieces.
  @Test(arguments: 1...9) func linesAreWholeHoweverTheyCome(bytes: Int) {
    let text = "one\r\n\ntwo\nthree"
    let pieces = stride(from: 0, to: text.utf8.count, by: bytes).map {
      String(decoding: Array(text.utf8).dropFirst($0).prefix(bytes), as: UTF8.self)
    }
    #expect(Self.lines(pieces) == ["1:one", "2:", "3:two", "4:three"])
    #expect(Self.lines(pieces + ["\n"]) == ["1:one", "2:", "3:two", "4:three"])
  }

  @Test(arguments: 1...9) func aLineThatIsTooLongIsPassedOver(bytes: Int) {
    let text = "ab\nabcdefgh\ncd\nabcdefgh"
    let pieces = stride(from: 0, to: text.utf8.count, by: bytes).map {
      String(decoding: Array(text.utf8).dropFirst($0).prefix(bytes), as: UTF8.self)
    }
    #expect(Self.lines(pieces, maximum: 4) == ["1:ab", "2:too long", "3:cd", "4:too long"])
  }

  @Test func nothingHasNoLines() {
    #expect(Self.lines([]) == [] && Self.lines([""]) == [] && Self.lines(["\n"]) == ["1:"])
  }

  /// Tokens are taken as phones print them, and never shown in a refusal.
  @Test func tokensAreReadAsEverywhere() throws {
    let reader = ImportRowReader(defaultTopic: "a.b", now: 7)
    func row(_ token: String) throws(ImportRow.Refusal) -> ImportRow {
      try reader.read(Array(#"{"user":"u1","devices":[{"token":"\#(token)"}]}"#.utf8))
    }
    #expect(try row("<AABB cc dd>").rows.last?.bindings.map(\.token) == ["aabbccdd"])
    let refusal = #expect(throws: ImportRow.Refusal.self) {
      try row("q83vASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4k=")
    }
    let reason = try #require(refusal?.reason)
    #expect(reason.contains("devices[0].token must be hex digits, and looks like base64"))
    #expect(!reason.contains("abcdef"))
  }
}
