import Testing

@Suite struct SourceTextTests {
  private func code(_ text: String) -> String {
    String(decoding: SourceText(text).code, as: UTF8.self)
  }

  private func comments(_ text: String) -> String {
    String(decoding: SourceText(text).comments, as: UTF8.self)
  }

  @Test(arguments: [
    ("a // b", "a     "),
    ("a /* b /* c */ d */ e", "a                   e"),
    ("f(\"a\\\"b\")", "f(\"    \")"),
    ("\"a\\(b(\"c\"))d\" e", "\" \\(b(\" \")) \" e"),
    ("#\"a\"b\\(c)\"# d", "#\"       \"# d"),
    ("#\"a\\#(b)c\"#", "#\" \\#(b) \"#"),
    ("\"\"\"\na \"b\" // c\n\"\"\" d", "\"\"\"\n          \n\"\"\" d"),
    ("\"// a\" b", "\"    \" b"),
    ("#if os(Linux)", "#if os(Linux)"),
    ("\"open\na", "\"    \na"),
    ("\"é\"", "\"  \""),
  ])
  func keepsCode(_ text: String, _ kept: String) {
    #expect(code(text) == kept)
  }

  @Test func keepsComments() {
    #expect(comments("a // b") == "  // b")
    #expect(comments("\"// a\" /* b\nc */ d") == "       /* b\nc */  ")
  }

  @Test func keepsLines() {
    let text = "let a = \"\"\"\n  b\n  \"\"\"\n/* c\n d */\n"
    #expect(code(text).filter { $0 == "\n" }.count == 5)
    #expect(comments(text).filter { $0 == "\n" }.count == 5)
  }

  @Test(arguments: ["\"", "\"\\", "\"\\(", "/*", "#", "#\"\"\"", ")", "\"\\(a", "//"])
  func endsWhereTheTextEnds(_ text: String) {
    #expect(code(text).utf8.count == text.utf8.count)
  }
}
