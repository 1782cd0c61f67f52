import Model
import Testing
import Text

@testable import Render

@Suite("Values as JSON")
struct TextTests {
  /// Texts that broke somebody: as bytes, since some are not UTF-8.
  static let corpus: [[UInt8]] =
    [
      [0xFF], [0xC0, 0xAF], [0xE0, 0x80, 0xAF], [0xF0, 0x80, 0x80, 0xAF], [0xED, 0xA0, 0x80],
      [0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80], [0xF4, 0x90, 0x80, 0x80],
      [0xF8, 0x88, 0x80, 0x80, 0x80],
      [0xE4, 0xB8], [0xF0, 0x9F, 0x98], [0x80], [0xC3], [0x61, 0xE4, 0xB8, 0x22], [0xC1, 0xBF],
      // Taking the control out of the middle must not make another one of the rest.
      [0xE2, 0xE2, 0x80, 0xAE, 0x80, 0xAE],
    ]
    + [
      "", "\u{0}", "a\u{0}b", "\u{1}\u{8}\t\n\u{b}\u{c}\r\u{1b}\u{1f}\u{7f}", "\u{80}\u{85}\u{9f}",
      "\u{2028}\u{2029}", "\u{202e}gnp.exe", "\u{202a}\u{202b}\u{202c}\u{202d}",
      "\u{2066}\u{2067}x",
      "\u{2069}\u{202c}", "\u{200b}\u{200d}\u{feff}", "😀", "👨‍👩‍👧‍👦 🏳️‍🌈", "Z̴̡̛a̸l̵g̶o̷",
      "a" + String(repeating: "\u{301}", count: 10_000), "{{", "}}", "{{streamer.name}}", "%@ %n",
      "\"", "\\", "\\\"", "\\u0022", "</script>", "'; DROP TABLE", "\u{fffe}\u{ffff}\u{10ffff}",
      "plain ascii that is a little longer", "seven b\"", "eight by\\", "日本語のとても長い名前です",
    ].map { Array($0.utf8) }

  private static func write(_ bytes: [UInt8]) -> [UInt8]? {
    var target = [UInt8](repeating: 0xAA, count: bytes.count * JSONEscaping.maximumGrowth + 1)
    let count = bytes.withUnsafeBytes { source in
      target.withUnsafeMutableBytes { target -> Int? in
        guard let from = source.baseAddress, let to = target.baseAddress else { return 0 }
        return JSONEscaping.write(from, bytes.count, to: to)
      }
    }
    #expect(target.last == 0xAA, "wrote past the bound")
    return count.map { Array(target[..<$0]) }
  }

  @Test("The fast writer says what String and the strict reader say", arguments: corpus)
  func corpusText(_ bytes: [UInt8]) throws {
    let wanted = String(decoding: bytes, as: UTF8.self)
    let hasBidi = wanted.unicodeScalars.contains {
      (0x202A...0x202E).contains($0.value) || (0x2066...0x2069).contains($0.value)
    }
    let written = Self.write(bytes)
    #expect((written == nil) == hasBidi)
    let inside = written ?? JSONEscaping.escaped(wanted)
    #expect(inside == JSONEscaping.escaped(wanted))
    #expect(inside.count == JSONEscaping.escapedCount(wanted.utf8))
    let shown = String(
      String.UnicodeScalarView(wanted.unicodeScalars.map { $0 == "\0" ? "\u{FFFD}" : $0 }))
    #expect(try StrictJSON([0x22] + inside + [0x22]).value == .string(shown))
  }

  @Test("Random bytes are repaired as String repairs them", arguments: [1, 2, 3, 4] as [UInt64])
  func randomBytes(_ seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let interesting: [UInt8] = [
      0x00, 0x1F, 0x20, 0x22, 0x5C, 0x61, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2,
      0xE0,
      0xE1, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF,
    ]
    for _ in 0..<5_000 {
      let bytes = (0..<Int.random(in: 0...24, using: &random)).map { _ in
        Bool.random(using: &random)
          ? interesting[Int.random(in: 0..<interesting.count, using: &random)]
          : UInt8.random(in: 0x20...0x7E, using: &random)
      }
      guard let written = Self.write(bytes) else { continue }
      let wanted = String(decoding: bytes, as: UTF8.self)
      if written != JSONEscaping.escaped(wanted) { Issue.record("seed \(seed): \(bytes)") }
    }
  }

  @Test(
    "A bidi control without its partner is taken out of a value, a pair stays",
    arguments: [
      ("\u{202E}Aiko", "Aiko"), ("a\u{202C}b", "ab"), ("\u{2069}", ""),
      ("\u{202B}Aiko\u{202C}", "\u{202B}Aiko\u{202C}"), ("\u{2068}x\u{2069}", "\u{2068}x\u{2069}"),
      ("\u{2068}x", "x"), ("\u{2067}\u{202E}x\u{2069}", "\u{2067}x\u{2069}"),
      ("\u{202E}\u{2066}x\u{202C}\u{2069}", "\u{2066}x\u{2069}"),
      ("\u{2066}\u{2066}x\u{2069}", "\u{2066}x\u{2069}"), ("اسم", "اسم"),
      ("\u{200F}x", "\u{200F}x"),
    ])
  func bidi(_ text: String, _ wanted: String) {
    let cleaned = BidiControls.cleaned(text)
    #expect(Array(cleaned.unicodeScalars) == Array(wanted.unicodeScalars))
    #expect(BidiControls.cleaned(cleaned) == cleaned)
  }

  @Test("Thousands of nested controls are cleaned in one go")
  func manyControls() {
    let open = String(repeating: "\u{202E}\u{2066}", count: 4_000)
    #expect(BidiControls.cleaned(open + "x") == "x")
    let closed = String(repeating: "\u{2069}\u{202C}", count: 4_000)
    #expect(BidiControls.cleaned("x" + closed) == "x")
  }

  @Test(
    "Whatever stands in a profile or an event, the payload is valid JSON and fits",
    arguments: corpus)
  func hostileValues(_ bytes: [UInt8]) throws {
    var fields = Samples.fields
    fields["stream.title"] = String(decoding: bytes.prefix(1_024), as: UTF8.self)
    fields["streamer.name"] = fields["stream.title"]
    let prepared = try Samples.prepare(Samples.template, Samples.event(fields: fields))
    let payload = try #require(
      Samples.payload(prepared, ["name": bytes, "locale": bytes, "badge": bytes]))
    #expect(payload.count <= 4096)
    let json = try StrictJSON(payload)
    let title = try #require(json.text("aps.alert.title"))
    for scalar in title.unicodeScalars where title.unicodeScalars.count < 20 {
      #expect(scalar.value != 0x202E)
    }
    #expect(json.text("stream") == "b-991" && json.text("aps.sound") == "default")
  }

  @Test("Random people in random pages", arguments: [11, 12, 13] as [UInt64])
  func randomPages(_ seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let prepared = try Samples.prepare()
    for _ in 0..<40 {
      let people = (0..<Int.random(in: 0...20, using: &random)).map { index in
        var person = Samples.Person(
          user: "u\(index)", devices: Int.random(in: 0...4, using: &random))
        for name in ["locale", "name", "badge"] where Bool.random(using: &random) {
          person.fields[name] = Self.corpus.randomElement(using: &random)
        }
        return person
      }
      let page = Samples.page(people, fieldNames: prepared.fieldNames)
      let tally = SegmentTally()
      let size = Int.random(in: 1...16, using: &random)
      let rendering = PageRendering(page, prepared, tally: tally, maximumPushes: size)
      while let batch = rendering.next() {
        #expect((1...size).contains(batch.entries.count))
        for (index, push) in batch.entries.enumerated() {
          let payload = Array(batch.bytes[push.payload])
          #expect(payload.count <= 4096)
          _ = try StrictJSON(payload)
          batch.settle(index, .accepted)
        }
      }
      #expect(tally.pushes == page.bindings.count && tally.settled == tally.pushes, "seed \(seed)")
    }
  }
}
