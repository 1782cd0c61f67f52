import Glibc
import Ingest
import JSON
import Kafka
import Testing
import Text

/// What is no event gets a code and a reason that can be shown, and never a trap.
@Suite struct MalformedEventTests {
  private func expect(
    _ code: IngestError.Code, _ bytes: [UInt8]?, _ note: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let error = decode(message(bytes)).error
    #expect(error?.code == code, "\(note)", sourceLocation: sourceLocation)
    let reason = error?.reason ?? ""
    #expect(isShowable(reason), "\(note): \(reason)", sourceLocation: sourceLocation)
  }

  private func isShowable(_ reason: String) -> Bool {
    !reason.isEmpty && reason.utf8.count <= 512
      && reason.unicodeScalars.allSatisfy {
        ![.control, .format, .lineSeparator, .paragraphSeparator].contains(
          $0.properties.generalCategory)
      }
  }

  @Test func tombstone() { expect(.tombstone, nil, "tombstone") }

  @Test func notAnObject() {
    for text in ["null", "[]", "0", "true", #""text""#, "[{}]", "[\(sampleText)]"] {
      expect(.wrongType, Array(text.utf8), text)
    }
  }

  @Test func truncatedAtEveryByte() {
    let bytes = Array(sampleText.utf8)
    for count in 0..<bytes.count { expect(.notJSON, Array(bytes.prefix(count)), "\(count) bytes") }
  }

  @Test func notJSON() {
    let texts = [
      "", " ", "\n", "\0", "{}x", sampleText + "x", sampleText + sampleText,
      sampleText + "\n" + sampleText, sampleText + "\0", "{", "}", "{]", "{'id':1}", "{id:1}",
      "{\"id\":\"a\",}", "// no\n\(sampleText)", "NaN", "{\"id\":NaN}", "{\"id\":-Infinity}",
      "{\"id\":1e999}", "{\"id\":007}", "{\"id\":.5}", "{\"id\":9223372036854775808}",
      "{\"id\":-9223372036854775809}", "{\"id\":\"\u{1}\"}", "{\"id\":\"a\nb\"}",
      "{\"id\":\"\\u0000\"}", "{\"id\":\"\\ud800\"}", "{\"\\u0000\":1}", "{\"id\":\"\\x\"}",
      "\u{FEFF}" + sampleText,
    ]
    for text in texts { expect(.notJSON, Array(text.utf8), text) }
  }

  @Test func notUTF8() {
    let bad: [[UInt8]] = [
      [0xFF], [0xC3], [0xC0, 0x80], [0xE0, 0x80, 0xAF], [0xED, 0xA0, 0x80],
      [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0x80],
    ]
    for bytes in bad {
      expect(.notJSON, Array("{\"id\":\"".utf8) + bytes + Array("\"}".utf8), "\(bytes)")
    }
    for order in [true, false] {
      let utf16 = sampleText.utf16.flatMap {
        order ? [UInt8($0 >> 8), UInt8($0 & 0xFF)] : [UInt8($0 & 0xFF), UInt8($0 >> 8)]
      }
      expect(.notJSON, utf16, "UTF-16")
      expect(.notJSON, (order ? [0xFE, 0xFF] : [0xFF, 0xFE]) + utf16, "UTF-16 with mark")
    }
    expect(.notJSON, [0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0], "gzip")
    expect(.notJSON, Array("Obj\u{1}".utf8), "Avro")
  }

  @Test func nestedTooDeep() {
    for depth in [513, 514, 2_049, 32_000] {
      let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
      expect(.notJSON, Array(text.utf8), "depth \(depth)")
      let opened = String(repeating: #"{"a":"#, count: min(depth + 1, 10_000))
      expect(.notJSON, Array(opened.utf8), "\(depth)")
    }
  }

  @Test func tooLargeIsNotParsed() {
    let large = [UInt8](repeating: 0x5B, count: 10 << 20)
    let before = cpuNanoseconds()
    expect(.tooLarge, large, "10 MB")
    // Reading it once takes longer.
    #expect(cpuNanoseconds() - before < 2_000_000)
    let spaces = sampleText + String(repeating: " ", count: 1 << 20)
    expect(.tooLarge, Array(spaces.utf8), "1 MB of spaces")
    var random = SplitMix64(seed: 4)
    expect(.tooLarge, (0..<(1 << 20)).map { _ in UInt8.random(in: 0...255, using: &random) }, "")
  }

  private func cpuNanoseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
  }

  @Test func duplicateKeys() {
    for text in [
      #"{"id":"a","id":"a"}"#, #"{"id":"a","\u0069d":"b"}"#, #"{"streamer":{"id":"a","id":"b"}}"#,
      #"{"data":{"x":{"y":1,"y":2}}}"#,
    ] { expect(.duplicateKey, Array(text.utf8), text) }
  }

  @Test func missing() throws {
    for path in ["id", "app", "streamer", "stream", "occurred_at", "streamer.id", "stream.id"] {
      let error = decode(try sample(path, nil)).error
      #expect(error == IngestError(.missingField, "\(path) is missing"))
    }
    expect(.missingField, Array("{}".utf8), "{}")
  }

  @Test func unknown() throws {
    let long = "x" + String(repeating: "\u{301}", count: 10_000)
    for name in ["ID", "ttl", "expires_at", "", "a\r\nb", "\u{202E}di", "\u{200B}id", long] {
      var strange = try #require(try sample("id", "x").object)
      strange[name] = 1
      let text = JSONText.compact(.object(strange))
      expect(.unknownField, Array(text.utf8), name)
    }
    #expect(
      decode(try sample("expires", 1)).error?.reason == #"an event has no member "expires""#)
  }

  @Test func wrongTypes() throws {
    let all: [JSONValue] = [nil, true, 1, 1.5, [], [:], "text"]
    let strings = all.filter { $0.string == nil }
    let objects = all.filter { $0.object == nil }
    let integers = all.filter { $0.integer == nil }
    let texts: [JSONValue] = [nil, [], [:]]
    let wanted: [(String, [JSONValue])] = [
      ("id", strings), ("app", strings), ("template", strings), ("occurred_at", strings),
      ("streamer.id", strings), ("stream.id", strings), ("streamer", objects),
      ("stream", objects), ("data", objects), ("expires_in", integers), ("stream.title", texts),
      ("data.x", [nil]),
    ]
    for (path, values) in wanted {
      for value in values {
        let error = decode(try sample(path, value)).error
        #expect(error?.code == .wrongType, "\(path) \(value)")
        #expect(error?.reason.hasPrefix(path + " is ") == true, "\(path) \(value)")
      }
    }
  }

  @Test func badIdentifiers() throws {
    let long = String(repeating: "a", count: 300)
    let near = ["", "a\r", "a\n", "a b", "a/b", "é", "a\u{7F}", "a\u{202E}", "{a}", long]
    let bad: [(String, [String])] = [
      ("id", near + [String(repeating: "a", count: 65), "a%20"]),
      ("app", near + [String(repeating: "a", count: 256), "a_b", "a:b", ":path"]),
      ("template", near + [String(repeating: "a", count: 65), "Go", "../x", "a.b", "a_b"]),
      (
        "streamer.id",
        [
          "", "a\r", "a\n", "{", "}", "{u:1}", "a\u{7F}", "a\u{85}", "é\u{80}", long, "s:1:2",
          ":0:0",
        ]
      ),
      ("stream.id", ["", "a\r\nb", "{a}", "\u{1B}[2J", long, String(repeating: "é", count: 65)]),
    ]
    for (path, values) in bad {
      for value in values {
        let text = JSONText.compact(try sample(path, .string(value)))
        expect(.badIdentifier, Array(text.utf8), "\(path) \(value.debugDescription)")
      }
    }
  }

  @Test func badTexts() throws {
    let names = ["", "a.b", "a b", "é", "{{", "a\r", String(repeating: "n", count: 65)]
    for group in ["streamer", "stream", "data"] {
      for name in names {
        var event = try #require(try sample("data", [:]).object)
        var members = try #require(event[group]?.object)
        members[name] = "x"
        event[group] = .object(members)
        expect(.badText, Array(JSONText.compact(.object(event)).utf8), "\(group) \(name)")
      }
    }
    for text in [
      String(repeating: "a", count: 1025), "a" + String(repeating: "\u{301}", count: 512),
    ] {
      let event = try sample("stream.title", .string(text))
      expect(.badText, Array(JSONText.compact(event).utf8), "\(text.utf8.count)")
    }
  }

  @Test func badTimesAndExpiries() throws {
    for text in ["", "now", "1795248000", "2026-11-21", "2026-02-30T00:00:00Z", "\r\n"] {
      let event = try sample("occurred_at", .string(text))
      expect(.badTime, Array(JSONText.compact(event).utf8), text)
    }
    let combined = "2026-11-21T08:00:00Z" + String(repeating: "\u{301}", count: 10_000)
    let hostile = try sample("occurred_at", .string(combined))
    expect(.badTime, Array(JSONText.compact(hostile).utf8), "10,000 combining marks")
    for seconds in [0, -1, .min, .max, 2_592_001, sampleTime] as [Int64] {
      let event = try sample("expires_in", .integer(seconds))
      expect(.badExpiry, Array(JSONText.compact(event).utf8), "\(seconds)")
    }
    let huge = sampleText.replacing(":900}", with: ":9223372036854775808}")
    expect(.notJSON, Array(huge.utf8), "2^63")
    let far = try sample("occurred_at", "9999-12-31T23:59:59-23:59")
    expect(.occurredInFuture, Array(JSONText.compact(far).utf8), "year 9999")
  }

  @Test func randomBytes() {
    var random = SplitMix64(seed: 11)
    for _ in 0..<2_000 {
      let bytes = (0..<Int.random(in: 0..<300, using: &random)).map { _ in
        UInt8.random(in: .min ... .max, using: &random)
      }
      #expect(decode(message(bytes)).error != nil)
    }
  }

  /// Any byte changed anywhere: an event or a showable error, never a trap.
  @Test func mutations() {
    var random = SplitMix64(seed: 8)
    let bytes = Array(sampleText.utf8)
    for _ in 0..<20_000 {
      var mutated = bytes
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        mutated[Int.random(in: 0..<bytes.count, using: &random)] = UInt8(
          truncatingIfNeeded: random.next())
      }
      if let error = decode(message(mutated)).error {
        #expect(isShowable(error.reason), "\(error)")
      }
    }
  }
}
