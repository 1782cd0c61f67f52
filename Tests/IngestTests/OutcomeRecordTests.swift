import Checkout
import Ingest
import JSON
import Kafka
import Model
import Testing

@Suite struct OutcomeRecordTests {
  private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"

  private func event(isTraced: Bool = true) throws -> Event {
    let header = KafkaHeader("traceparent", "00-\(Self.trace)-00f067aa0ba902b7-01")
    return try #require(
      decode(message(Array(sampleText.utf8), headers: isTraced ? [header] : [])).event)
  }

  private func schema() throws -> SchemaChecker {
    let text = try Checkout.text("Config/outcome.schema.json")
    return SchemaChecker(root: try JSONValue.parse(Array(text.utf8), maximumDepth: 16))
  }

  /// One of each kind of outcome, and a user without a device.
  private func records() throws -> [(key: [UInt8], value: [UInt8])] {
    let event = try event()
    let tally = SegmentTally()
    let reports = OutcomeReports(event: event.id, share: 1, now: { 1_795_248_001_234 })
    tally.reports = reports
    let fates: [NotedFate] = [
      .outcome(.accepted), .outcome(.rejected(.noRoute)), .outcome(.expired),
      .outcome(.cancelled), .outcome(.suppressed(.device)), .skipped,
    ]
    for (number, fate) in fates.enumerated() {
      for destination in Destination.all {
        tally.note(
          user: "u\"\(number)", member: destination.memberPrefix + "com.example.live:aabb", fate,
          sends: number)
      }
    }
    tally.note(user: "u1", member: "", .outcome(.suppressed(.quiet)))
    return reports.all.map { OutcomeRecord.encode($0, of: event, in: reports.bytes) }
  }

  private func summary(_ numbers: [String: Int], origin: Event? = nil) -> FanOutSummary {
    FanOutSummary(
      event: "live-8f2c", streamer: "s42", template: "go-live", state: "done", numbers: numbers,
      origin: origin)
  }

  private static let numbers = [
    "segments": 2, "settled": 2, "recipients": 10, "pushes": 12, "accepted": 8, "rejected": 3,
    "suppressed": 1, "started_ms": 1_795_248_000_100, "first_push_ms": 1_795_248_000_200,
    "last_push_ms": 1_795_248_000_300, "done_ms": 1_795_248_000_400, "rejected:NoRoute": 1,
    "rejected:BadDeviceToken": 1, "rejected:TooManyRequests": 1, "suppressed:muted": 1,
    "waiting": 0,
  ]

  @Test func aPushIsToldInWords() throws {
    let (key, value) = try #require(try records().first)
    #expect(String(decoding: key, as: UTF8.self) == "u\"0")
    let object = try #require(try JSONValue.parse(value).object)
    let id = try #require(object["id"]?.string)
    let device = try #require(object["device"]?.string)
    #expect(
      String(decoding: value, as: UTF8.self)
        == #"{"type":"push.outcome","version":1,"id":"\#(id)","event":"live-8f2c","#
        + #""streamer":"s42","app":"com.example.live","user":"u\"0","platform":"apns","#
        + #""environment":"production","device":"\#(device)","outcome":"accepted","attempts":0,"#
        + #""at_ms":1795248001234,"trace_id":"\#(Self.trace)"}"#)
  }

  @Test func noRecordHoldsAToken() throws {
    for record in try records() {
      #expect(!String(decoding: record.value, as: UTF8.self).contains("aabb"))
    }
  }

  @Test func aFanOutIsToldWithItsReasonsByPlatform() throws {
    let (key, value) = summary(Self.numbers, origin: try event()).encode()
    #expect(String(decoding: key, as: UTF8.self) == "live-8f2c")
    let object = try #require(try JSONValue.parse(value).object)
    #expect(
      object["id"] == "live-8f2c/done/1795248000400" && object["trace_id"] == .string(Self.trace))
    #expect(
      object["accepted"] == 8 && object["expired"] == 0 && object["app"] == "com.example.live")
    let rejections = try #require(object["rejections"]?.array).map { JSONText.compact($0) }
    #expect(
      rejections == [
        #"{"platform":"apns","reason":"BadDeviceToken","count":1}"#,
        #"{"reason":"NoRoute","count":1}"#, #"{"reason":"TooManyRequests","count":1}"#,
      ])
    #expect(object["suppressions"].map { JSONText.compact($0) } == #"[{"rule":"muted","count":1}]"#)
  }

  /// By a checker of the whole schema; and each member that it names is written by somebody.
  @Test func recordsAreAsTheSchemaSays() throws {
    let schema = try schema()
    var written: Set<String> = []
    let summaries = [
      summary(Self.numbers, origin: try event()), summary([:]),
      summary(["accepted": -1], origin: try event(isTraced: false)),
    ]
    for value in try records().map(\.value) + summaries.map({ $0.encode().value }) {
      let parsed = try JSONValue.parse(value)
      #expect(schema.accepts(parsed), "\(String(decoding: value, as: UTF8.self))")
      written.formUnion(parsed.object?.members.map(\.name) ?? [])
    }
    let known = ["fanout", "push"].flatMap {
      schema.root.object?["$defs"]?.object?[$0]?.object?["properties"]?.object?.members.map(\.name)
        ?? []
    }
    #expect(Set(known).subtracting(written) == ["appended_ms"])
  }

  @Test func theSchemaRefusesWhatIsNoRecord() throws {
    let schema = try schema()
    for text in [
      "{}", #"{"type":"push.outcome"}"#, #"{"type":"fanout.ended","version":1}"#,
      String(decoding: summary(Self.numbers).encode().value, as: UTF8.self)
        .replacing(#""state":"done""#, with: #""state":"running""#),
      String(decoding: summary(Self.numbers).encode().value, as: UTF8.self)
        .replacing(#""accepted":8"#, with: #""accepted":8,"token":"aabb""#),
    ] {
      #expect(!schema.accepts(try JSONValue.parse(Array(text.utf8))), "\(text)")
    }
  }
}
