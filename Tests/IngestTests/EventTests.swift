import Ingest
import Model
import Testing

@Suite struct EventTests {
  @Test func readsTheDocumentedEvent() throws {
    let text = eventText()
    let event = try #require(decode(text).event)
    #expect(event.id == "live-8f2c")
    #expect(event.app == "com.example.live")
    #expect(event.streamer == "s42")
    #expect(event.stream == "b-991")
    #expect(event.template == "go-live")
    #expect(event.occurredAt == eventTime)
    #expect(event.expiresAt == eventTime + 900_000)
    #expect(event.fields["streamer.name"] == "Aiko")
    #expect(event.fields["streamer.id"] == "s42")
    #expect(event.fields["stream.title"] == "Speedrun night")
    #expect(event.document == Array(text.utf8))
  }

  @Test func fillsInWhatMayBeLeftOut() throws {
    let event = try #require(
      decode(eventText(["template": nil, "expires_in": nil]), key: nil).event)
    #expect(event.template == "go-live")
    #expect(event.expiresAt == eventTime + 900_000)
  }

  @Test func numbersAndFlagsBecomeTheirText() throws {
    let data = #"{"viewers":12,"score":1.5,"live":true,"big":9223372036854775807,"empty":""}"#
    let event = try #require(decode(eventText(["data": data])).event)
    #expect(event.fields["data.viewers"] == "12")
    #expect(event.fields["data.score"] == "1.5")
    #expect(event.fields["data.live"] == "true")
    #expect(event.fields["data.big"] == "9223372036854775807")
    #expect(event.fields["data.empty"] == "")
  }

  @Test(arguments: [
    "\u{202E}gnp.exe", "👨‍👩‍👧‍👦",
    "e" + String(repeating: "\u{301}", count: 500), "\u{2028}\u{2029}",
    "{{streamer.id}}", "%@ %n", "</script>", "\u{200B}", "日本語",
  ])
  func keepsHostileTextAsItIs(title: String) throws {
    let event = try #require(
      decode(eventText(["stream": #"{"id":"b","title":"\#(title)"}"#])).event)
    #expect(event.fields["stream.title"].map { Array($0.utf8) } == Array(title.utf8))
  }

  @Test func keepsEscapedControlCharactersInFields() throws {
    let stream = ##"{"id":"b","title":"a\n\"\\\u001b\u0085"}"##
    let event = try #require(decode(eventText(["stream": stream])).event)
    #expect(event.fields["stream.title"] == "a\n\"\\\u{1B}\u{85}")
  }

  static let wrong:
    [(changes: KeyValuePairs<String, String?>, code: IngestError.Code, place: String)] =
      [
        (["id": nil], .missingField, "id"), (["app": nil], .missingField, "app"),
        (["streamer": nil], .missingField, "streamer"), (["stream": nil], .missingField, "stream"),
        (["occurred_at": nil], .missingField, "occurred_at"),
        (["streamer": #"{"name":"x"}"#], .missingField, "streamer.id"),
        (["stream": "{}"], .missingField, "stream.id"),
        (["id": "7"], .wrongType, "id"), (["app": "null"], .wrongType, "app"),
        (["streamer": #""s42""#], .wrongType, "streamer"), (["stream": "[]"], .wrongType, "stream"),
        (["streamer": #"{"id":42}"#], .wrongType, "streamer.id"),
        (["occurred_at": "1795248000"], .wrongType, "occurred_at"),
        (["expires_in": #""900""#], .wrongType, "expires_in"),
        (["expires_in": "900.0"], .wrongType, "expires_in"),
        (["template": "1"], .wrongType, "template"), (["data": "[]"], .wrongType, "data"),
        (["data": #"{"a":null}"#], .wrongType, "data.a"),
        (["data": #"{"a":{}}"#], .wrongType, "data.a"),
        (["data": #"{"a":[1]}"#], .wrongType, "data.a"),
        (["extra": "1"], .unknownField, "extra"),
        (["expires_at": "1"], .unknownField, "expires_at"),
        (["ID": #""x""#], .unknownField, "ID"),
        (["id": #""""#], .badIdentifier, "id"), (["id": #""a b""#], .badIdentifier, "id"),
        (["id": #""a\r\nb""#], .badIdentifier, "id"), (["id": #""é""#], .badIdentifier, "id"),
        (["id": #""a/b""#], .badIdentifier, "id"), (["id": #""a{b}""#], .badIdentifier, "id"),
        (["id": #""\#(String(repeating: "a", count: 65))""#], .badIdentifier, "id"),
        (["app": #""com.example\nx""#], .badIdentifier, "app"),
        (["app": #""""#], .badIdentifier, "app"), (["app": #""a_b""#], .badIdentifier, "app"),
        (["app": #""\#(String(repeating: "a", count: 256))""#], .badIdentifier, "app"),
        (["streamer": #"{"id":""}"#], .badIdentifier, "streamer.id"),
        (["streamer": #"{"id":"a}b"}"#], .badIdentifier, "streamer.id"),
        (["streamer": #"{"id":"a\u0007"}"#], .badIdentifier, "streamer.id"),
        (["streamer": #"{"id":"s:1:2"}"#], .badIdentifier, "streamer.id"),
        (
          ["stream": #"{"id":"\#(String(repeating: "a", count: 129))"}"#], .badIdentifier,
          "stream.id"
        ),
        (["stream": #"{"id":"a\rb"}"#], .badIdentifier, "stream.id"),
        (["template": #""Go Live""#], .badIdentifier, "template"),
        (["template": #""../x""#], .badIdentifier, "template"),
        (["template": #""""#], .badIdentifier, "template"),
        (["occurred_at": #""yesterday""#], .badTime, "occurred_at"),
        (["occurred_at": #""2026-11-21T08:10:01Z""#], .occurredInFuture, "occurred_at"),
        (["occurred_at": #""9999-12-31T23:59:59Z""#], .occurredInFuture, "occurred_at"),
        (["expires_in": "0"], .badExpiry, "expires_in"),
        (["expires_in": "-1"], .badExpiry, "expires_in"),
        (["expires_in": "2592001"], .badExpiry, "expires_in"),
        (["expires_in": "9223372036854775807"], .badExpiry, "expires_in"),
        (["expires_in": "9223372036854775808"], .notJSON, "line 1"),
        (["data": #"{"a":"\#(String(repeating: "a", count: 1025))"}"#], .badText, "data.a"),
        (["data": #"{"a":"\u0000"}"#], .notJSON, "line 1"),
        (["data": #"{"a.b":"c"}"#], .badText, "data.a.b"),
        (["data": #"{"":"c"}"#], .badText, "data."),
        (["data": #"{"a}}":"c"}"#], .badText, "data.a}}"),
        (["data": #"{"a":1,"a":2}"#], .duplicateKey, "line 1"),
        (["data": #"{"a":NaN}"#], .notJSON, "line 1"),
        (["data": #"{"a":1e999}"#], .notJSON, "line 1"),
        (["data": #"{"a":007}"#], .notJSON, "line 1"),
        (["data": #"{"a":"\ud800"}"#], .notJSON, "line 1"),
      ]

  @Test(arguments: wrong.indices)
  func refusesAndNamesThePlace(index: Int) throws {
    let (changes, code, place) = Self.wrong[index]
    let text = eventText(changes)
    let error = try #require(decode(text).error, "accepted: \(text)")
    #expect(error.code == code, "\(text): \(error)")
    #expect(error.reason.contains(place), "\(error) does not name \(place)")
    #expect(error.reason.utf8.allSatisfy { $0 >= 0x20 }, "a header is made of it")
    #expect(error.reason.utf8.count < 400)
  }

  @Test func acceptsTheBoundsThemselves() throws {
    let id64 = String(repeating: "a", count: 61) + "._:"
    let text1024 = String(repeating: "é", count: 512)
    for changes: KeyValuePairs<String, String?> in [
      ["id": "\"\(id64)\""], ["app": "\"\(String(repeating: "a", count: 255))\""],
      ["stream": "{\"id\":\"\(String(repeating: "a", count: 128))\"}"],
      ["template": "\"\(String(repeating: "a", count: 64))\""],
      ["occurred_at": #""2026-11-21T08:10:00Z""#], ["expires_in": "1"],
      ["expires_in": "2592000"], ["data": "{\"a\":\"\(text1024)\"}"], ["data": "{}"],
      ["streamer": #"{"id":"s42","n":"\n"}"#],
    ] {
      #expect(decode(eventText(changes)).error == nil, "\(changes)")
    }
  }

  @Test func boundsTheNumberOfFields() {
    func data(_ count: Int) -> String {
      "{" + (0..<count).map { "\"f\($0)\":\($0)" }.joined(separator: ",") + "}"
    }
    // Beside these: event.id, two of the streamer, three of the stream.
    #expect(decode(eventText(["data": data(58)])).error == nil)
    #expect(decode(eventText(["data": data(59)])).error?.code == .tooManyFields)
    #expect(decode(eventText(["data": data(1_000_000)])).error?.code == .tooLarge)
  }

  @Test func theKeyIsTheStreamer() {
    #expect(decode(eventText(), key: "s42").error == nil)
    #expect(decode(eventText(), key: nil).error == nil)
    #expect(decode(eventText(), key: "s43").error?.code == .keyMismatch)
    let large = String(repeating: "k", count: 1_000_000)
    #expect(decode(eventText(), key: large).error?.code == .keyMismatch)
  }
}

@Suite struct RawRecordTests {
  @Test func refusesEveryTruncation() {
    let bytes = Array(eventText(["data": #"{"é":"\u00e9\n","n":-1.5e3,"t":true}"#]).utf8)
    for length in 0..<bytes.count {
      let error = decode(Array(bytes[..<length])).error
      #expect(error?.code == .notJSON, "\(length) bytes: \(String(describing: error))")
    }
  }

  @Test func survivesEveryChangedByte() {
    let bytes = Array(eventText().utf8)
    for index in bytes.indices {
      for byte: UInt8 in [0, 0x0A, 0x22, 0x5C, 0x7B, 0x7D, 0x80, 0xC0, 0xFF] {
        var changed = bytes
        changed[index] = byte
        if let event = decode(changed, key: nil).event {
          #expect(event.id.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
          #expect(event.streamer.utf8.allSatisfy { $0 >= 0x20 })
        }
      }
    }
  }

  static let hostile: [(name: String, bytes: [UInt8], code: IngestError.Code)] = [
    ("null", Array("null".utf8), .wrongType), ("array", Array("[]".utf8), .wrongType),
    ("string", Array("\"x\"".utf8), .wrongType), ("empty object", Array("{}".utf8), .missingField),
    ("trailing", Array((eventText() + "x").utf8), .notJSON),
    ("two", Array((eventText() + eventText()).utf8), .notJSON),
    ("comma", Array((eventText().dropLast() + ",}").utf8), .notJSON),
    ("BOM", [0xEF, 0xBB, 0xBF] + Array(eventText().utf8), .notJSON),
    ("UTF-16", eventText().utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }, .notJSON),
    ("gzip", [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3], .notJSON),
    ("Avro", Array("Obj".utf8) + [1, 4, 0x16], .notJSON),
    ("bad UTF-8", Array(#"{"id":""#.utf8) + [0xFF, 0x22, 0x7D], .notJSON),
    ("overlong", Array(#"{"id":""#.utf8) + [0xC0, 0x80, 0x22, 0x7D], .notJSON),
    ("surrogate", Array(#"{"id":""#.utf8) + [0xED, 0xA0, 0x80, 0x22, 0x7D], .notJSON),
    ("depth 512", [UInt8](repeating: 0x5B, count: 512), .notJSON),
    ("depth 60,000", [UInt8](repeating: 0x5B, count: 60_000), .notJSON),
    ("depth 1 M", [UInt8](repeating: 0x5B, count: 1_000_000), .tooLarge),
    ("10 MB", [UInt8](repeating: 0x61, count: 10_000_000), .tooLarge),
  ]

  @Test(arguments: hostile.indices)
  func refusesHostileBytes(index: Int) {
    let (name, bytes, code) = Self.hostile[index]
    let error = decode(bytes).error
    #expect(error?.code == code, "\(name): \(String(describing: error))")
  }

  @Test func refusesRandomBytes() {
    var random = Seeded(state: 11)
    for _ in 0..<500 {
      let bytes = (0..<Int.random(in: 0..<300, using: &random)).map { _ in
        UInt8.random(in: .min ... .max, using: &random)
      }
      #expect(decode(bytes).error != nil)
    }
  }

  @Test func refusesATombstone() {
    #expect(decode(nil as [UInt8]?).error?.code == .tombstone)
  }

  @Test func refusesTenMegabytesWithoutParsing() {
    let text = eventText(["data": "{\"a\":\"\(String(repeating: "a", count: 10_000_000))\"}"])
    let bytes = Array(text.utf8)
    let before = ContinuousClock.now
    #expect(decode(bytes).error?.code == .tooLarge)
    #expect(ContinuousClock.now - before < .milliseconds(20))
  }
}

/// SplitMix64: the same numbers for the same seed.
struct Seeded: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
