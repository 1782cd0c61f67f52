import Testing
import YAML

private func parse(_ text: String, maximumDepth: Int = 32) throws(YAMLError) -> YAMLNode? {
  try YAMLNode.parse(Array(text.utf8), maximumDepth: maximumDepth)
}

private func failure(of bytes: [UInt8], maximumBytes: Int = 1_048_576) -> YAMLError? {
  do {
    _ = try YAMLNode.parse(bytes, maximumBytes: maximumBytes)
    return nil
  } catch {
    return error
  }
}

private func failure(of text: String) -> YAMLError? { failure(of: Array(text.utf8)) }

@Suite struct YAMLParserTests {
  @Test func everyNodeKnowsItsPlace() throws {
    let root = try #require(
      try parse(
        """
        # a comment
        kafka:
          group: fanfare
          é: { x: 'quoted', y: [1, "two"] }
        list:
          - one
          -
            deep: |
              block
        """))
    #expect(root.mapping?.map(\.key) == ["kafka", "list"])
    #expect(root.place == YAMLPlace(line: 2, column: 1))
    let group = try #require(root["kafka"]?.entry("group"))
    #expect(group.keyPlace == YAMLPlace(line: 3, column: 3))
    #expect(group.value.place == YAMLPlace(line: 3, column: 10))
    #expect(group.value.content == .scalar("fanfare", .plain))
    let flow = try #require(root["kafka"]?["é"])
    #expect(flow["x"]?.content == .scalar("quoted", .quoted))
    #expect(flow["y"]?.sequence?.map(\.text) == ["1", "two"])
    #expect(flow["y"]?.sequence?.last?.place == YAMLPlace(line: 4, column: 28))
    let deep = try #require(root["list"]?.sequence?.last?.entry("deep"))
    #expect(deep.keyPlace == YAMLPlace(line: 8, column: 5))
    #expect(deep.value.content == .scalar("block", .quoted))
    #expect(root["none"] == nil)
  }

  @Test func knowsNullFromQuotedText() throws {
    let root = try #require(try parse("a:\nb: ~\nc: null\nd: ''\ne: 'null'\nf: nil\n"))
    #expect(root.mapping?.map(\.value.isNull) == [true, true, true, false, false, false])
  }

  @Test(arguments: ["", "\n\n", "# only a comment\n", "\u{FEFF}"])
  func nothingIsNoDocument(_ text: String) throws { #expect(try parse(text) == nil) }

  @Test func readsCarriageReturnsAndAByteOrderMark() throws {
    let unix = "a:\n  b: 1\nc: \"x\"\n"
    let windows = "\u{FEFF}" + unix.replacing("\n", with: "\r\n")
    #expect(try parse(windows)?["a"]?["b"]?.text == "1")
    #expect(try parse(windows)?["c"]?.place == (try parse(unix)?["c"]?.place))
  }

  @Test func namesBothPlacesOfADuplicateKey() throws {
    let error = try #require(failure(of: "a:\n  x: 1\n  y: 2\n  'x': 3\n"))
    #expect(error.code == .duplicateKey)
    #expect(error.place == YAMLPlace(line: 4, column: 3))
    #expect(error.message == "the key `x` is given twice, first at line 2, column 3")
    #expect(failure(of: "{\u{E9}: 1, e\u{301}: 2}") == nil, "compared by bytes")
  }

  @Test(arguments: [
    ("a: &x 1\nb: *x\n", YAMLError.Code.unsupported, "1:4"), ("b: *x\n", .unsupported, "1:4"),
    ("a: &x [1]\n", .unsupported, "1:4"), ("a: !!int 1\n", .unsupported, "1:4"),
    ("a: !!map {}\n", .unsupported, "1:4"), ("? [1]\n: 2\n", .unsupported, "1:3"),
    ("a: 1\n---\nb: 2\n", .severalDocuments, "2:1"), ("--- 1\n--- 2\n", .severalDocuments, "2:1"),
    ("a: [1, 2\nb: 3\n", .syntax, "2:2"), ("a: 'x\n", .syntax, "2:1"),
    ("a:\n\t- 1\n", .syntax, "2:1"),
    ("a: b: c\n", .syntax, "1:5"), ("%YAML 9\n", .syntax, "1:8"), ("}", .syntax, "1:1"),
    ("a: \u{1}\n", .encoding, "1:4"), ("a: b\nc: \u{0}\n", .encoding, "2:4"),
  ])
  func refuses(_ text: String, _ code: YAMLError.Code, _ place: String) throws {
    let error = try #require(failure(of: text), "\(text.debugDescription) was accepted")
    #expect(error.code == code, "\(error)")
    #expect(error.place.description == place, "\(error)")
  }

  @Test(
    arguments: [
      [0x61, 0x3A, 0x20, 0xFF], [0xFF, 0xFE, 0x61, 0x00], [0xC0, 0xAF], [0xED, 0xA0, 0x80],
      [0xE2, 0x82],
    ] as [[UInt8]])
  func refusesWhatIsNotUTF8(_ bytes: [UInt8]) { #expect(failure(of: bytes)?.code == .encoding) }

  @Test func refusesTheBillionLaughs() {
    var bomb = "a0: &a0 [lol,lol,lol,lol,lol,lol,lol,lol,lol]\n"
    for level in 1...9 {
      let aliases = Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ",")
      bomb += "a\(level): &a\(level) [\(aliases)]\n"
    }
    #expect(failure(of: bomb)?.code == .unsupported)
  }

  @Test func boundsTheDepth() throws {
    func flow(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect(failure(of: flow(32)) == nil)
    #expect(failure(of: flow(33))?.place == YAMLPlace(line: 1, column: 33))
    #expect(failure(of: flow(500_000))?.code == .tooDeep)
    let block = (0..<400).map { String(repeating: " ", count: $0) + "k:\n" }.joined()
    #expect(failure(of: block)?.code == .tooDeep)
    #expect(failure(of: String(repeating: "- ", count: 400_000))?.code == .tooDeep)
    #expect(try parse("a: {b: {c: 1}}", maximumDepth: 3) != nil)
    #expect(throws: YAMLError.self) { try parse("a: {b: {c: 1}}", maximumDepth: 2) }
  }

  @Test func refusesTheSizeBeforeItParses() {
    #expect(failure(of: Array("}}}}".utf8), maximumBytes: 3)?.code == .tooLarge)
    #expect(failure(of: Array("}}}".utf8), maximumBytes: 3)?.code == .syntax)
  }

  @Test func survivesTruncationAndRandomBytes() {
    let document = Array("a: {b: [1, 'é', \"\\u00e9\"], c: |\n  x\n  }\nd: >-\n  e\n".utf8)
    for count in 0...document.count { _ = failure(of: Array(document[..<count])) }
    let alphabet = Array("ab:-[]{},'\"|>&*!%#? \n\té".utf8) + [0x00, 0xFF]
    var state: UInt64 = 7
    for _ in 0..<20_000 {
      let bytes = (0..<24).map { _ -> UInt8 in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return alphabet[Int((state >> 33) % UInt64(alphabet.count))]
      }
      if let error = failure(of: bytes) { #expect(error.line >= 1 && error.column >= 1) }
    }
  }
}

extension YAMLNode {
  /// The scalar's text whatever its style.
  fileprivate var text: String? {
    if case .scalar(let text, _) = content { text } else { nil }
  }

  fileprivate var sequence: [YAMLNode]? {
    if case .sequence(let nodes) = content { nodes } else { nil }
  }

  fileprivate func entry(_ key: String) -> Entry? {
    mapping?.first { $0.key.utf8.elementsEqual(key.utf8) }
  }

  fileprivate subscript(key: String) -> YAMLNode? { entry(key)?.value }
}
