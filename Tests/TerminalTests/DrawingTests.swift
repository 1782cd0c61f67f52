import Testing

@testable import Terminal

@Suite struct DrawingTests {
  @Test(arguments: [
    ("", 0), ("abc", 3), ("日本語", 6), ("한국어", 6), ("ｱ", 1), ("Ａ", 2), ("e\u{301}", 1),
    ("👩‍👩‍👧‍👦", 2), ("🇯🇵", 2), ("❤️", 2), ("❤", 1), ("\u{200B}", 0), ("العربية", 7), ("𠀀", 2),
    ("a\u{1B}b", 2), ("🔴 live", 7),
  ])
  func cellsOfText(text: String, cells: Int) { #expect(DisplayWidth.cells(text) == cells) }

  @Test func truncationCutsOnCharactersWithinTheCells() {
    #expect(TextLayout.truncated("日本語です", to: 10) == "日本語です")
    #expect(TextLayout.truncated("日本語です", to: 8) == "日本語…")
    #expect(TextLayout.truncated("日本語です", to: 1) == "…")
    #expect(TextLayout.truncated("日本語です", to: 0) == "")
    #expect(TextLayout.truncated("abcdef", to: 4, ellipsis: "") == "abcd")
  }

  @Test func wrappingKeepsEveryWord() {
    #expect(TextLayout.wrapped("one two three", to: 7) == ["one two", "three"])
    #expect(TextLayout.wrapped("abcdefgh x", to: 3) == ["abc", "def", "gh", "x"])
    #expect(TextLayout.wrapped("日本語日本語", to: 4) == ["日本", "語日", "本語"])
    #expect(TextLayout.wrapped("a\n\nb", to: 9) == ["a", "", "b"])
    #expect(TextLayout.wrapped("", to: 9) == [""])
    #expect(TextLayout.wrapped("ab", to: -5) == ["a", "b"])
  }

  @Test func tablesAlignWideCharacters() {
    var table = Table([.init("name"), .init("pushes", .right)])
    table.add(["Aiko", "1,200"])
    table.add(["日本語", "7"])
    table.add(["evil\u{1B}[2J"])
    #expect(
      table.text(width: nil) == """
        name      pushes
        Aiko       1,200
        日本語         7
        evil\u{FFFD}[2J

        """)
    #expect(!table.text(width: nil).contains("\u{1B}"))
  }

  @Test func tablesShrinkToTheTerminal() {
    var table = Table([.init("a"), .init("b"), .init("n", .right)])
    table.add([String(repeating: "x", count: 40), "short", "123456"])
    let buffer = Buffer()
    table.write(to: buffer.console(width: 30, isTerminal: true))
    #expect(buffer.lines[1] == String(repeating: "x", count: 14) + "…  short  123456")
    // In a pipe nothing is cut.
    let pipe = Buffer()
    table.write(to: pipe.console(width: 30))
    #expect(pipe.text.contains(String(repeating: "x", count: 40)))
  }

  @Test func anIdIsNeverCut() {
    var table = Table([.init("id", isWhole: true), .init("words"), .init("n", .right)])
    let id = String(repeating: "x", count: 40)
    table.add([id, "some words that are long", "7"])
    #expect(table.text(width: 30).split(separator: "\n")[1] == "\(id)  some …  7")
  }

  @Test func summariesPutValuesInOneColumn() {
    var summary = Summary()
    summary.section("Pushes")
    summary.add("pushes", 120_034)
    summary.add("lost", 0, mark: .good)
    summary.add("日本", 5, indent: 1)
    summary.section("Worker")
    summary.add("CPU per push", "4.2 µs", note: "by the operating system")
    let buffer = Buffer()
    summary.write(to: buffer.console())
    #expect(
      buffer.text == """
        Pushes
          pushes        120,034
          lost                0
            日本              5

        Worker
          CPU per push   4.2 µs  by the operating system

        """)
    let narrow = Buffer()
    summary.write(to: narrow.console(width: 26, isTerminal: true, coloured: true))
    #expect(narrow.text.contains("\u{1B}[32m      0\u{1B}[0m\n"))
    #expect(narrow.text.contains("\n      \u{1B}[2mby the operating\u{1B}[0m\n"))
  }

  @Test(arguments: [
    (-5, "0 s"), (119_999, "119 s"), (120_000, "2 min"), (7_200_000, "2 h"),
    (172_800_000, "2 d"),
  ]) func agesAreShort(milliseconds: Int64, text: String) {
    #expect(Figures.age(milliseconds: milliseconds) == text)
  }

  @Test func figures() {
    #expect(Figures.grouped(0) == "0")
    #expect(Figures.grouped(-1_234_567) == "-1,234,567")
    #expect(Figures.grouped(.min) == "-9,223,372,036,854,775,808")
    #expect(Figures.fixed(2.345, digits: 2) == "2.35")
    #expect(Figures.fixed(-0.04) == "0.0")
    #expect(Figures.fixed(1.05, digits: 3) == "1.050")
    #expect(Figures.fixed(.nan) == "-")
    #expect(Figures.fixed(1e300) == "1e+300")
    #expect(Figures.clock(seconds: 3_700) == "1:01:40")
    #expect(Figures.clock(seconds: 95) == "1:35")
    #expect(Figures.bytes(1536) == "1.5 KiB")
    #expect(Figures.bytes(5) == "5 B")
    #expect(Figures.time(nanoseconds: 4_234) == "4.2 µs")
  }
}

@Suite struct CapabilityTests {
  private func capabilities(_ environment: [String: String], isTerminal: Bool = true)
    -> Capabilities
  {
    Capabilities(isTerminal: isTerminal) { environment[$0] }
  }

  @Test func theEnvironmentIsObeyed() {
    let usual = ["TERM": "xterm-256color", "LANG": "en_US.UTF-8"]
    #expect(
      capabilities(usual)
        == Capabilities(isTerminal: true, redraws: true, coloured: true, unicode: true))
    #expect(!capabilities(usual.merging(["NO_COLOR": "1"]) { $1 }).coloured)
    #expect(capabilities(usual.merging(["NO_COLOR": "1"]) { $1 }).redraws)
    #expect(capabilities(usual.merging(["NO_COLOR": ""]) { $1 }).coloured)
    let dumb = capabilities(usual.merging(["TERM": "dumb"]) { $1 })
    #expect(!dumb.coloured && !dumb.redraws)
    #expect(!capabilities(["LANG": "C", "TERM": "xterm"]).unicode)
    #expect(!capabilities(usual.merging(["LC_ALL": "C"]) { $1 }).unicode)
    #expect(capabilities([:], isTerminal: false) == .plain)
    #expect(!capabilities([:]).redraws)
  }
}
