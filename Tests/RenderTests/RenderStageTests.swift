import JSON
import Model
import Testing

@testable import Render

@Suite("Rendering")
struct RenderStageTests {
  @Test("A recipient gets their own payload in their own language")
  func personal() throws {
    let prepared = try Samples.prepare()
    let payload = try #require(
      Samples.payload(
        prepared,
        ["locale": Array("zh_TW".utf8), "name": Array("小明".utf8), "badge": Array("3".utf8)]))
    #expect(
      String(decoding: payload, as: UTF8.self)
        == #"{"aps":{"alert":{"title":"Aiko開播了","body":"小明，Speedrun night"},"sound":"default""#
        + #","badge":3},"stream":"b-991"}"#)
  }

  @Test("Missing and empty values get the fallback; a locale without a text gets the default's")
  func fallbacks() throws {
    let prepared = try Samples.prepare()
    for fields: [String: [UInt8]] in [[:], ["name": []]] {
      let json = try StrictJSON(#require(Samples.payload(prepared, fields)))
      #expect(json.text("aps.alert.body") == "Hi there, Speedrun night")
      #expect(json["aps.badge"] == nil)
    }
    let fields = ["locale": Array("ja".utf8)]
    let json = try StrictJSON(#require(Samples.payload(prepared, fields)))
    #expect(json.text("aps.alert.title") == "Aikoが配信中")
    #expect(json.text("aps.alert.body") == "Hi there, Speedrun night")
  }

  @Test(
    "A badge is an integer or is not there",
    arguments: [
      ("0", "0"), ("12", "12"), ("-1", "-1"), ("999999999999999", "999999999999999"),
      ("1000000000000000", nil), ("007", nil), ("1.5", nil), ("", nil), ("-", nil), ("x", nil),
      ("1}", nil), ("+1", nil), ("٣", nil), ("1 ", nil),
    ] as [(String, String?)])
  func badge(_ value: String, _ number: String?) throws {
    let fields = ["badge": Array(value.utf8)]
    let json = try StrictJSON(#require(Samples.payload(try Samples.prepare(), fields)))
    #expect(json["aps.badge"] == number.flatMap { Int64($0) }.map { .integer($0) })
    let alone = try Samples.prepare("payload:\n  aps:\n    badge: \"{{recipient.badge}}\"")
    let lone = try StrictJSON(#require(Samples.payload(alone, fields)))
    #expect(lone["aps.badge"] == number.flatMap { Int64($0) }.map { .integer($0) })
    let kept = try Samples.prepare("payload:\n  n: \"{{recipient.badge|5}}\"")
    #expect(
      try StrictJSON(#require(Samples.payload(kept, fields)))["n"]
        == .integer(Int64(number ?? "5") ?? 0))
  }

  @Test("Every kind of JSON value of a payload arrives")
  func values() throws {
    let prepared = try Samples.prepare(
      """
      payload:
        a: null
        b: true
        c: -7
        d: 0.25
        e: 1e300
        f: "{{{{x}} \\"\\\\ \\u0001 {{data.none}}|{{data.none|y}}|{{event.id}}|{{streamer.id}}"
        g:
          - 1
          - two
        h: []
        i: {}
        j: "{{recipient.badge}}!"
        "k{{{{\\"": x
      """)
    let json = try StrictJSON(
      #require(Samples.payload(prepared, ["badge": Array("4".utf8)])))
    #expect(json["a"] == .null && json["b"] == .bool(true) && json["c"] == .integer(-7))
    #expect(json["d"] == .double(0.25) && json["e"] == .double(1e300))
    #expect(json.text("f") == "{{x}} \"\\ \u{1} |y|live-8f2c|s42")
    #expect(json["g"] == .array([.integer(1), .string("two")]))
    #expect(json["h"] == .array([]) && json["i"] == .object(JSONObject()) && json.text("j") == "4!")
  }

  @Test("The headers come from the template and the event")
  func headers() throws {
    let headers = try Samples.prepare().headers
    #expect(headers.topic == "com.example.live" && headers.priority == 10)
    #expect(headers.collapseID == "live-s42")
    #expect(headers.expiration == 1_763_712_900 && headers.expiresAt == 1_763_712_900_999)
    let quiet = try Samples.prepare(
      """
      push_type: voip
      stored: false
      priority: 1
      payload:
        a: b
      """
    ).headers
    #expect(quiet.topic == "com.example.live.voip" && quiet.pushType == .voip)
    #expect(quiet.expiration == 0 && quiet.priority == 1 && quiet.collapseID == nil)
  }

  @Test("A collapse id is visible ASCII of at most 64 bytes, the same for the same event")
  func collapseIDs() throws {
    func make(_ streamer: String) throws -> String? {
      var fields = Samples.fields
      fields["streamer.id"] = streamer
      return try Samples.prepare(Samples.template, Samples.event(fields: fields)).headers.collapseID
    }
    let fits = String(repeating: "a", count: 59)
    #expect(try make(fits) == "live-" + fits)
    for streamer in [fits + "a", "é", "a\r\nb", "a\u{0}", "a ", String(repeating: "配", count: 300)]
    {
      let id = try #require(try make(streamer))
      #expect(id.utf8.count <= 64 && id.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
      #expect(id.hasPrefix("live-") && id.contains("~"))
      #expect(try make(streamer) == id)
      #expect(try make(streamer + "x") != id)
    }
    let missing = "collapse_id: \"c-{{data.x}}\"\npayload:\n  a: b"
    #expect(try Samples.prepare(missing).headers.collapseID == nil)
    let fallback = "collapse_id: \"c-{{data.x|y}}\"\npayload:\n  a: b"
    #expect(try Samples.prepare(fallback).headers.collapseID == "c-y")
  }

  @Test("A page becomes batches, its devices share a payload, and the tally adds up")
  func batches() throws {
    let prepared = try Samples.prepare()
    let people = [
      Samples.Person(user: "none", devices: 0),
      Samples.Person(user: "many", fields: ["name": Array("Mia".utf8)], devices: 7),
      Samples.Person(user: "one", fields: ["name": Array("Noa".utf8)]),
    ]
    let page = Samples.page(people, fieldNames: prepared.fieldNames)
    page.followers = 5
    page.suppressed[.quiet] = 2
    page.skipped = 1
    let tally = SegmentTally()
    let stage = RenderStage(templates: [prepared.template])
    let rendering = stage.batches(of: page, for: prepared, tally: tally, maximumPushes: 3)
    var sizes: [Int] = []
    var users: [String] = []
    while let batch = rendering.next() {
      #expect(batch.isSealed && batch.unsettled == batch.entries.count)
      sizes.append(batch.entries.count)
      for (index, push) in batch.entries.enumerated() {
        users.append(batch.bytes.string(push.user))
        let json = try StrictJSON(Array(batch.bytes[push.payload]))
        let name = users.last == "many" ? "Mia" : "Noa"
        #expect(json.text("aps.alert.body") == "Hi \(name), Speedrun night")
        #expect(batch.bytes.string(push.member).hasSuffix(batch.bytes.string(push.token)))
        batch.settle(index, .accepted)
      }
      if sizes.count == 1 { #expect(batch.entries[0].payload == batch.entries[2].payload) }
    }
    #expect(sizes == [3, 3, 2] && users == Array(repeating: "many", count: 7) + ["one"])
    #expect(tally.topic == prepared.headers.topic)
    #expect(tally.recipients == 5 && tally.pushes == 10 && tally.skipped == 1)
    #expect(tally.suppressions[.quiet] == 2)
    #expect(tally.suppressed == 2 && tally.accepted == 8 && tally.settled == tally.pushes)
    #expect(rendering.next() == nil)
  }

  @Test("What is left of a page can be given one outcome without being rendered")
  func settleRest() throws {
    let prepared = try Samples.prepare()
    let people = [Samples.Person(user: "a", devices: 5), Samples.Person(user: "b", devices: 2)]
    let page = Samples.page(people, fieldNames: prepared.fieldNames)
    let tally = SegmentTally()
    let rendering = PageRendering(page, prepared, tally: tally, maximumPushes: 3)
    #expect(rendering.next()?.entries.count == 3)
    rendering.settleRest(as: .expired)
    rendering.settleRest(as: .expired)
    #expect(tally.expired == 4 && tally.pushes == 7 && rendering.next() == nil)
  }

  @Test("A page read with other fields is rendered with those that it has")
  func otherFields() throws {
    let prepared = try Samples.prepare()
    let person = Samples.Person(user: "a", fields: ["name": Array("Mia".utf8)])
    for names in [["tz", "name"], ["badge"], []] {
      let page = Samples.page([person], fieldNames: names)
      let rendering = PageRendering(page, prepared, tally: SegmentTally(), maximumPushes: 1)
      let batch = try #require(rendering.next())
      let json = try StrictJSON(Array(batch.bytes[batch.entries[0].payload]))
      let name = names.contains("name") ? "Mia" : "there"
      #expect(json.text("aps.alert.body") == "Hi \(name), Speedrun night")
    }
  }

  @Test("A user with many devices costs one batch of memory at a time")
  func manyDevices() throws {
    let prepared = try Samples.prepare()
    let page = Samples.page([Samples.Person(user: "a", devices: 10_000)], fieldNames: ["locale"])
    let tally = SegmentTally()
    let rendering = PageRendering(page, prepared, tally: tally, maximumPushes: 256)
    var batches = 0
    while let batch = rendering.next() {
      batches += 1
      #expect(batch.bytes.count < 256 * 256)
    }
    #expect(batches == 40 && tally.pushes == 10_000)
  }

  @Test("A preview says what one recipient would get")
  func preview() throws {
    let preview = try Samples.prepare().preview(recipient: ["locale": "zh-HK", "name": "Mia"])
    #expect(preview.locale == "zh-Hant" && !preview.isShortened)
    #expect(preview.byteCount == preview.payload.utf8.count)
    #expect(try StrictJSON(preview.payload).text("aps.alert.body") == "Mia，Speedrun night")
    let tight = try Samples.prepare("payload:\n  a: \"{{recipient.x}}\"")
    #expect(throws: RenderError.self) {
      try tight.preview(recipient: ["x": String(repeating: "y", count: 4090)])
    }
  }
}
