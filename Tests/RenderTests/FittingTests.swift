import Model
import Testing

@testable import Render

@Suite("Fitting into Apple's limit")
struct FittingTests {
  private static let family = "👨‍👩‍👧‍👦"

  @Test("The longest beginning that fits is kept, cut between two Characters")
  func cuts() {
    #expect(PayloadFitter.fit("abcdef", into: 6) == "abcdef")
    #expect(PayloadFitter.fit("abcdef", into: 5) == "ab…")
    #expect(PayloadFitter.fit("ab  ef", into: 7) == "ab  ef")
    #expect(PayloadFitter.fit("abcd  gh", into: 7) == "abcd…")
    #expect(PayloadFitter.fit("a\"\"\"\"", into: 7) == "a\"…")
    #expect(PayloadFitter.fit("a\u{1}\u{1}", into: 12) == "a\u{1}…")
    #expect(PayloadFitter.fit("a\u{1}\u{1}", into: 9) == "a…")
    #expect(PayloadFitter.fit("漢字漢字", into: 11) == "漢字…")
    #expect(PayloadFitter.fit("x" + Self.family + "y", into: 27) == "x" + Self.family + "y")
    #expect(PayloadFitter.fit("x" + Self.family + "y", into: 26) == "x…")
    #expect(PayloadFitter.fit("abcdef", into: 3) == "…")
    #expect(PayloadFitter.fit("abcdef", into: 2) == "")
    #expect(PayloadFitter.fit("", into: 0) == "")
  }

  @Test(
    "A bidi control whose end is cut off goes too, a pair and what never ends stay",
    arguments: [
      ("a\u{202E}bcdefghij\u{202C}k", 10, "abcd…"),
      ("a\u{2067}bcdefghij\u{2069}k", 10, "abcd…"),
      ("\u{2068}b\u{2069}cdefghij", 12, "\u{2068}b\u{2069}cd…"),
      ("\u{2067}\u{202B}bcdefghij\u{2069}k", 11, "bc…"),
      ("\u{202B}bcdefghijk", 10, "\u{202B}bcde…"),
      ("a\u{202C}bcdefghijk", 10, "a\u{202C}bcd…"),
    ])
  func cutPairs(_ text: String, room: Int, kept: String) {
    let fitted = PayloadFitter.fit(text, into: room)
    #expect(fitted.unicodeScalars.elementsEqual(kept.unicodeScalars), "\(fitted.debugDescription)")
    #expect(JSONEscaping.escapedCount(fitted.utf8) <= room)
  }

  @Test("A name's pair of bidi controls is not left open when the text is cut")
  func cutPairOfAName() throws {
    let name = "\u{202E}" + String(repeating: "a", count: 5_000) + "\u{202C}"
    let payload = try #require(
      Samples.payload(try Samples.prepare(), ["name": Array(name.utf8)]))
    let body = try #require(try StrictJSON(payload).text("aps.alert.body"))
    #expect(body.hasPrefix("Hi aaaa") && body.hasSuffix("a…"))
  }

  @Test("One Character of 10,000 combining marks is left out whole")
  func combiningMarks() throws {
    let name = "a" + String(repeating: "\u{301}", count: 10_000)
    let json = try StrictJSON(
      #require(Samples.payload(try Samples.prepare(), ["name": Array(name.utf8)])))
    #expect(json.text("aps.alert.body") == "Hi…")
    let alone = try Samples.prepare("shorten: b\npayload:\n  b: \"{{recipient.name}}\"")
    let other = try StrictJSON(#require(Samples.payload(alone, ["name": Array(name.utf8)])))
    #expect(other.text("b") == "…")
  }

  @Test(
    "Every length around the limit gives valid JSON, as full as it can be",
    arguments: ["a", "\"", "é", "漢", "😀", "👨‍👩‍👧‍👦", "e\u{301}", "\u{1}"])
  func everyLength(_ unit: String) throws {
    let prepared = try Samples.prepare()
    let escaped = JSONEscaping.escapedCount(unit.utf8)
    let empty = try #require(Samples.payload(prepared, ["name": Array("x".utf8)])).count - 1
    for extra in -3...3 {
      let count = (4096 - empty) / escaped + extra
      let name = String(repeating: unit, count: count)
      let payload = try #require(Samples.payload(prepared, ["name": Array(name.utf8)]))
      let body = try #require(try StrictJSON(payload).text("aps.alert.body"))
      let whole = "Hi \(name), Speedrun night"
      if empty + name.utf8.count * escaped / unit.utf8.count <= 4096 {
        #expect(body == whole)
      } else {
        // The last Character that would have fitted was the widest one of the text.
        #expect(payload.count <= 4096 && payload.count > 4096 - max(escaped, 4) - 1)
        #expect(body.last == "…" && whole.hasPrefix(String(body.dropLast())))
      }
    }
  }

  @Test("A text of the event is cut too, the recipient's name in it or not")
  func longTitle() throws {
    var fields = Samples.fields
    fields["stream.title"] = String(repeating: "漢字かな", count: 500)
    let prepared = try Samples.prepare(Samples.template, Samples.event(fields: fields))
    for name in ["", "Mia", "\u{202E}Mia"] {
      let payload = try #require(
        Samples.payload(prepared, ["name": Array(name.utf8), "badge": Array("7".utf8)]))
      let json = try StrictJSON(payload)
      #expect(payload.count <= 4096 && payload.count > 4090)
      #expect(
        json.text("aps.alert.body")?.hasPrefix(name.isEmpty ? "Hi there, " : "Hi Mia, ") == true)
      #expect(json["aps.badge"] == .integer(7) && json.text("stream") == "b-991")
    }
  }

  @Test("VoIP pushes may have 5,120 bytes")
  func voip() throws {
    let name = Array(String(repeating: "a", count: 5_200).utf8)
    let yaml = "shorten: b\npayload:\n  b: \"{{recipient.name}}\""
    #expect(Samples.payload(try Samples.prepare(yaml), ["name": name])?.count == 4096)
    let voip = try Samples.prepare("push_type: voip\n" + yaml)
    #expect(Samples.payload(voip, ["name": name])?.count == 5120)
  }

  @Test("What cannot be fitted is an outcome, and the others of the page go on")
  func unrenderable() throws {
    let prepared = try Samples.prepare(
      """
      shorten: a.body
      payload:
        a:
          body: "Hello {{recipient.name}}"
          tag: "{{recipient.tag}}"
      """)
    let long = [UInt8](repeating: 0x61, count: 1_000_000)
    let page = Samples.page(
      [
        Samples.Person(user: "x", fields: ["tag": long], devices: 3),
        Samples.Person(user: "y", fields: ["name": long]),
        Samples.Person(user: "z", fields: ["tag": long]),
      ], fieldNames: prepared.fieldNames)
    let tally = SegmentTally()
    let rendering = PageRendering(page, prepared, tally: tally, maximumPushes: 2)
    let batch = try #require(rendering.next())
    #expect(batch.entries.count == 1 && batch.bytes.string(batch.entries[0].user) == "y")
    batch.settle(0, .accepted)
    #expect(rendering.next() == nil)
    #expect(tally.rejections.map(\.reason) == [.unrenderable] && tally.rejections[0].count == 4)
    #expect(tally.pushes == 5 && tally.settled == 5)
    #expect(rendering.unrenderable == 4 && rendering.shortened == 1)
  }

  @Test("A first try that was too long, or had bidi controls, leaves nothing behind")
  func leftovers() throws {
    let prepared = try Samples.prepare()
    for name in [
      String(repeating: "a", count: 4090), "\u{202E}" + String(repeating: "a", count: 900),
    ] {
      let person = Samples.Person(user: "u", fields: ["name": Array(name.utf8)])
      let page = Samples.page([person], fieldNames: prepared.fieldNames)
      let rendering = PageRendering(page, prepared, tally: SegmentTally(), maximumPushes: 1)
      let batch = try #require(rendering.next())
      #expect(batch.entries[0].payload.offset == 0)
    }
  }

  @Test("A value that is nothing but unpaired controls counts as empty")
  func emptyAfterCleaning() throws {
    let fields = ["name": Array("\u{202E}".utf8)]
    let json = try StrictJSON(#require(Samples.payload(try Samples.prepare(), fields)))
    #expect(json.text("aps.alert.body") == "Hi there, Speedrun night")
  }
}
