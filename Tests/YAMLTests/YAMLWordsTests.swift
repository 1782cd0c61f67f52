import Testing
import YAML

/// Mistakes that people make, in words that say what to change, and none of libyaml's.
@Suite struct YAMLWordsTests {
  private static let mistakes: [(text: String, line: Int, words: String)] = [
    ("a:\n\tb: 1\n", 2, "a tab indents this line"),
    ("a:\n  b: 1\n \tc: 2\n", 3, "a tab indents this line"),
    ("a: 1\n b: 2\n", 2, "': ' cannot stand here"),
    ("a:\n  b: 1\n c: 2\n", 3, "indent both alike"),
    ("a: x: y\n", 1, "put a text that has one in quotation marks"),
    ("a: \"x\nb: 1\n", 3, "line 1, column 4 is never closed"),
    ("a: 'x\nb: 1\n", 3, "line 1, column 4 is never closed"),
    ("a: 'It's live'\n", 1, "write an apostrophe inside"),
    ("a: \"say \"hi\" now\"\n", 1, "write a quotation mark inside"),
    ("a: \"\\q\"\n", 1, "a \\ begins an escape"), ("a: @name\n", 1, "cannot begin with '@'"),
    ("a: `x`\n", 1, "cannot begin with '`'"), ("a: %x\n", 1, "cannot begin with '%'"),
    ("a: {{streamer.name}} is live\n", 1, "in quotation marks"),
    ("a: {b: 1\nc: 2\n", 2, "needs a ',' or a '}'"), ("a: [1, 2\nb: 3\n", 2, "or a ']'"),
    ("a: - b\n", 1, "a list begins on a line of its own"),
    ("a:\n  - b\n  c: 1\n", 3, "does not begin with '- '"),
    ("a: 1\nb\nc: 2\n", 2, "a key needs ': '"), ("a: *b*\n", 1, ""), ("a: | x\n  y\n", 1, "'|'"),
    ("a: 1\n}\n", 2, ""), ("a: !b%%\n", 1, ""),
  ]

  private static let foreign = [
    "did not find", "could not find", "while parsing", "while scanning", "found character",
    "mapping values", "block mapping", "flow mapping", "simple key", "scalar", "token",
    "begun at line",
  ]

  @Test(arguments: mistakes)
  func areSaidInOurWords(_ text: String, _ line: Int, _ words: String) throws {
    let error = try #require(throws: YAMLError.self) {
      try YAMLNode.parse(Array(text.utf8))
    }
    #expect(error.message.contains(words), "\(error)")
    #expect(!Self.foreign.contains { error.message.contains($0) }, "\(error)")
    #expect(abs(error.line - line) <= 1, "\(error)")
  }

  /// Whatever is cut out of a text, or put into it.
  @Test func nothingOfTheLibraryIsSaid() {
    let text = "a:\n  b: \"x {{y}}\"\n  c: [1, {d: 'e'}]\nf:\n  - g: |\n      h\n  - 'i'\n"
    for (index, _) in text.enumerated() {
      for more in ["", "\t", "\"", "'", ": ", "{", "]", "- ", "@", "&", "!", "%", "\\", "?", "|"] {
        let position = text.index(text.startIndex, offsetBy: index)
        let rest = more.isEmpty ? text[position...].dropFirst() : text[position...]
        do {
          _ = try YAMLNode.parse(Array((text[..<position] + more + rest).utf8))
        } catch {
          if Self.foreign.contains(where: { error.message.contains($0) }) {
            Issue.record("\(index) \(more): \(error)")
          }
        }
      }
    }
  }

  @Test func bytesThatAreNoTextAreSaid() {
    for (bytes, words) in [([0x61, 0x3A, 0x20, 0xFF], "not UTF-8"), ([0x61, 0x01], "control")] {
      #expect(throws: YAMLError.self) { try YAMLNode.parse(bytes.map { UInt8($0) }) }
      do {
        _ = try YAMLNode.parse(bytes.map { UInt8($0) })
      } catch {
        #expect(error.message.contains(words), "\(error)")
      }
    }
  }
}
