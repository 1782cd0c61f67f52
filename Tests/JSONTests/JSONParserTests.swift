import JSON
import Testing
import Text

private func parse(
  _ text: String, maximumBytes: Int = 1_000_000, maximumDepth: Int = 32
) throws(JSONError) -> JSONValue {
  try JSONValue.parse(Array(text.utf8), maximumBytes: maximumBytes, maximumDepth: maximumDepth)
}

private func failure(of text: String) -> JSONError? { failure(of: Array(text.utf8)) }

private func failure(of bytes: [UInt8], maximumDepth: Int = 32) -> JSONError? {
  do {
    _ = try JSONValue.parse(bytes, maximumDepth: maximumDepth)
    return nil
  } catch {
    return error
  }
}

private func isValid(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { JSONCheck.isValid($0) } }

@Suite struct JSONParserTests {
  @Test func readsEveryKindOfValue() throws {
    let text = #"""
      {"z": 1, "a": [null, true, false, -7, 1.5, 1e3, "é\u00e9😀\ud83d\ude00\n"], "m": {"x": {}}}
      """#
    let value = try parse(text)
    #expect(value.object?.members.map(\.name) == ["z", "a", "m"], "the order is kept")
    #expect(value.object?["z"]?.integer == 1)
    #expect(
      value.object?["a"]
        == [nil, true, false, -7, .double(1.5), .double(1000), "éé😀😀\n"])
    #expect(value.object?["m"]?.object?["x"]?.object?.isEmpty == true)
    #expect(value.object?["none"] == nil)
  }

  @Test func keepsTheEdgesOfInt64() throws {
    #expect(try parse("9223372036854775807") == .integer(.max))
    #expect(try parse("-9223372036854775808") == .integer(.min))
    #expect(failure(of: "9223372036854775808")?.code == .numberRange)
    #expect(failure(of: "-9223372036854775809")?.code == .numberRange)
  }

  /// Counted before anything is built of them.
  @Test func boundsTheNumberOfValues() throws {
    func parse(_ text: String, _ maximum: Int) throws(JSONError) -> JSONValue {
      try JSONValue.parse(Array(text.utf8), maximumValues: maximum)
    }
    #expect(try parse(#"{"a":1,"b":[2,",,[[{"]}"#, 4).object?.count == 2)
    let error = #expect(throws: JSONError.self) { try parse(#"{"a":1,"b":[2,3]}"#, 3) }
    #expect(error?.code == .tooManyValues && error?.message == "more than 3 values")
    // Half a million arrays with few commas.
    let nested = String(repeating: "[", count: 29) + String(repeating: "]", count: 29)
    let arrays = "[" + [String](repeating: nested, count: 17_000).joined(separator: ",") + "]"
    #expect(failure(of: arrays)?.code == .tooManyValues)
  }

  /// Whether they are gone through or hashed is not seen.
  @Test(arguments: [2, 16, 17, 1_000])
  func membersAreFoundHoweverManyThereAre(_ count: Int) throws {
    let names = (0..<count).map { "n\($0)" } + ["\u{E9}", "e\u{301}"]
    let text = "{" + names.enumerated().map { #""\#($1)":\#($0)"# }.joined(separator: ",") + "}"
    var object = try #require(try parse(text).object)
    #expect(object == JSONObject(names.enumerated().map { ($1, .integer(Int64($0))) }))
    for (number, name) in names.enumerated() {
      #expect(object[name] == .integer(Int64(number)))
    }
    #expect(object["none"] == nil)
    object["n1"] = "changed"
    object["n0"] = nil
    object["more"] = true
    #expect(object.members.map(\.name) == names.dropFirst() + ["more"])
    #expect(object["n0"] == nil && object["n1"] == "changed" && object["more"] == true)
    #expect(object["e\u{301}"] == .integer(Int64(count + 1)))
  }

  /// The corpus of malformed documents: input, and the code that it must get.
  @Test(arguments: [
    ("", JSONError.Code.empty), (" \r\n\t", .empty), ("{", .truncated), ("[1,", .truncated),
    (#"{"a":1} x"#, .trailingText), ("{}{}", .trailingText), ("{}\u{0}", .nullCharacter),
    ("NaN", .syntax), ("[Infinity]", .syntax), ("[-Infinity]", .syntax), ("1e999", .numberRange),
    ("-1e999", .numberRange), ("007", .syntax), ("[+1]", .syntax), ("[.5]", .syntax),
    ("[1.]", .syntax), ("[0x10]", .syntax), (#"{"a":1,"a":2}"#, .duplicateKey),
    (#"{"a":1,"\u0061":2}"#, .duplicateKey), (#"["\u0000"]"#, .nullCharacter),
    (#"{"a\u0000b":1}"#, .nullCharacter), (#"["\ud800"]"#, .syntax), (#"["\udc00"]"#, .syntax),
    ("[1,]", .syntax), (#"{"a":1,}"#, .syntax), ("{'a':1}", .syntax), ("{a:1}", .syntax),
    ("[1] // no", .trailingText), ("\u{FEFF}{}", .encoding), ("[\"a\nb\"]", .syntax),
    ("tru", .syntax), ("\u{1F}{}", .syntax),
  ])
  func refuses(_ text: String, _ code: JSONError.Code) throws {
    let error = try #require(failure(of: text), "\(text.debugDescription) was accepted")
    #expect(error.code == code, "\(error)")
    #expect(error.line >= 1 && error.column >= 1 && !error.message.isEmpty)
    #expect(!isValid(Array(text.utf8)))
  }

  @Test(
    arguments: [
      [0xFF, 0xFE, 0x7B, 0x00, 0x7D, 0x00], [0xFE, 0xFF, 0x00, 0x7B, 0x00, 0x7D],
      [0x7B, 0x00, 0x7D, 0x00], [0x00, 0x7B, 0x00, 0x7D], [0x22, 0xFF, 0x22],
      [0x22, 0xC0, 0xAF, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xC3],
      [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22],
    ] as [[UInt8]])
  func refusesWhatIsNotUTF8(_ bytes: [UInt8]) throws {
    #expect(try #require(failure(of: bytes)).code == .encoding)
    #expect(!isValid(bytes))
  }

  @Test(arguments: [
    "{\"n\":900\0}", "{\"n\":900\0,\"m\":1}", "{\"n\":1.5e3\0}", "{\"b\":true\0}",
    "{\"b\":null\0}", "[false\0]", "{\"s\":\"a\0b\"}", "{\"s\":\"a\"\0}", "{\"n\":1}\0", "{ \0}",
  ])
  func refusesANULWhereverItStands(_ text: String) throws {
    #expect(try #require(failure(of: text)).code == .nullCharacter)
    #expect(!isValid(Array(text.utf8)))
  }

  @Test func refusesADocumentTruncatedAtEveryByte() {
    let document = Array(#"{"id":"é","n":[1.5,true,{"k":null}],"s":"\u00e9"}"#.utf8)
    #expect(failure(of: document) == nil)
    for count in 0..<document.count {
      let cut = Array(document[..<count])
      #expect(failure(of: cut) != nil, "accepted when cut to \(count) bytes")
      #expect(!isValid(cut))
    }
  }

  @Test func boundsTheDepth() {
    func nested(_ depth: Int) -> [UInt8] {
      Array(repeating: 0x5B, count: depth) + Array(repeating: 0x5D, count: depth)
    }
    #expect(failure(of: nested(32)) == nil)
    #expect(
      failure(of: nested(33))
        == JSONError(
          code: .tooDeep, message: "nested deeper than 32 levels", line: 1, column: 33))
    #expect(failure(of: nested(512), maximumDepth: 512) == nil)
    #expect(failure(of: nested(513), maximumDepth: 512)?.code == .tooDeep)
    #expect(failure(of: nested(400_000), maximumDepth: .max)?.code == .tooDeep)
    #expect(!isValid(nested(1_000_000)))
    #expect(failure(of: #"["[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "\"[[[["]"#) == nil)
  }

  @Test func refusesTheSizeBeforeItParses() {
    #expect(
      throws: JSONError(
        code: .tooLarge, message: "7 bytes, at most 6 are read", line: 1, column: 1)
    ) { try parse("garbage", maximumBytes: 6) }
  }

  @Test func namesThePlace() {
    #expect(failure(of: "{\n  \"é\": tru\n}").map { [$0.line, $0.column] } == [2, 10])
    let deep = "{\n \"é\": " + String(repeating: "[", count: 40)
    #expect(failure(of: deep).map { [$0.line, $0.column] } == [2, 38])
  }

  @Test func quotesNothingUnprintable() throws {
    let error = try #require(failure(of: "[\u{1B}[31m\u{202E}]"))
    #expect(!error.message.unicodeScalars.contains { $0 == "\u{1B}" || $0 == "\u{202E}" })
  }

  @Test func takesAMillionKeysOrTenMegabytesWithoutHarm() throws {
    let many = "{" + (0..<100_000).map { "\"k\($0)\":1" }.joined(separator: ",") + "}"
    #expect(try parse(many, maximumBytes: 10_000_000).object?.count == 100_000)
    let long = "\"" + String(repeating: "x", count: 9_000_000) + "\""
    #expect(try parse(long, maximumBytes: 10_000_000).string?.utf8.count == 9_000_000)
  }

  @Test func checksOnlyObjects() {
    #expect(isValid(Array(#" {"aps":{"alert":"x"}} "#.utf8)))
    for other in ["null", "[]", "1", "\"x\"", "true"] { #expect(!isValid(Array(other.utf8))) }
    #expect(!JSONCheck.isValid(UnsafeRawBufferPointer(start: nil, count: 0)))
  }

  @Test func survivesRandomBytes() {
    var generator = SplitMix64(seed: 42)
    let alphabet = Array(#"{}[]":,\u0aé 1e-.tfn"#.utf8) + [0x00, 0xFF, 0xC3]
    for _ in 0..<20_000 {
      let count = Int(generator.next() % 24)
      let bytes = (0..<count).map { _ in alphabet[Int(generator.next() % UInt64(alphabet.count))] }
      if isValid(bytes) { #expect(failure(of: bytes) == nil) }
      if failure(of: bytes) != nil { #expect(!isValid(bytes)) }
    }
  }
}
