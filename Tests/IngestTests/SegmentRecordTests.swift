import Ingest
import JSON
import Kafka
import Model
import Testing

@Suite struct SegmentRecordTests {
  private let topic = "notify-followers.segments"

  private func event(_ text: some StringProtocol = sampleText) throws -> Event {
    try #require(decode(String(text)).event)
  }

  private func decoded(_ text: String) -> IngestResult {
    decode(message(Array(text.utf8), topic: topic))
  }

  private func roundTrip(_ segment: Segment) throws -> Segment {
    let (key, value) = SegmentRecord.encode(segment)
    #expect(key == Array("\(segment.event.id)/\(segment.id)".utf8))
    return try #require(decode(message(value, key: key, topic: topic)).segment)
  }

  private func expectSame(_ one: Segment, _ other: Segment) {
    #expect(one.slice == other.slice)
    #expect(one.count == other.count)
    #expect(one.id == other.id)
    #expect(one.event.id == other.event.id)
    #expect(one.event.app == other.event.app)
    #expect(one.event.streamer == other.event.streamer)
    #expect(one.event.stream == other.event.stream)
    #expect(one.event.template == other.event.template)
    #expect(one.event.occurredAt == other.event.occurredAt)
    #expect(one.event.expiresAt == other.event.expiresAt)
    #expect(one.event.fields == other.event.fields)
  }

  @Test func shardsComeBack() throws {
    let event = try event()
    for audience in [
      Audience.sharded(shards: 1, generation: 0, followers: 5),
      .sharded(shards: 64, generation: 3, followers: 100_000),
    ] {
      for segment in audience.segments(of: event) { expectSame(segment, try roundTrip(segment)) }
    }
    let last = Segment(
      event: event, slice: .shard(index: 65_535, generation: Int(Int32.max)), count: 65_536)
    expectSame(last, try roundTrip(last))
  }

  @Test func partsAndNamedUsersComeBack() throws {
    let selective = try event(
      sampleText.dropLast() + #","audience":{"and":[{"tag":"beta"},{"not":{"followers":true}}]}}"#)
    for segment in Audience.selected(parts: 4).segments(of: selective) {
      expectSame(segment, try roundTrip(segment))
      #expect(try roundTrip(segment).event.audience == selective.audience)
    }
    let naming = try event(sampleText.dropLast() + #","audience":{"users":["u1","u2","u1"]}}"#)
    #expect(naming.audience == .users(["u1", "u2"]))
    for segment in Audience.named.segments(of: naming) {
      expectSame(segment, try roundTrip(segment))
    }
    let plan = RemainingPlan(event: selective, audience: .selected(parts: 512)).after(128)
    let (key, value) = SegmentRecord.encode(plan)
    let found = try #require(decode(message(value, key: key, topic: topic)).plan)
    #expect(found.generation == nil && found.first == 128 && found.count == 512)
    #expect(found.segments(128..<129).map(\.slice) == [.part(index: 128)])
  }

  /// A segment is cut as its event's audience is.
  @Test func aSliceOfAnotherAudienceIsRefused() throws {
    let plain = sampleText
    let selective = sampleText.dropLast() + #","audience":{"tag":"beta"}}"#
    let naming = sampleText.dropLast() + #","audience":{"users":["u1"]}}"#
    for (event, slice) in [
      (plain, #""part":0"#), (plain, #""named":true"#),
      (String(selective), #""shard":0,"generation":1"#), (String(selective), #""part":1"#),
      (String(selective), #""named":true"#), (String(naming), #""part":0"#),
      (String(naming), #""shard":0,"generation":1"#), (String(naming), #""named":false"#),
    ] {
      let error = decoded(#"{"event":\#(event),\#(slice),"segments":1}"#).error
      #expect(error?.code == .badSegment, "\(slice) of \(event.suffix(40))")
    }
  }

  @Test func whatIsLeftOfAPlanComesBack() throws {
    let plan = RemainingPlan(event: try event(), generation: 3, count: 4096, first: 128)
    let (key, value) = SegmentRecord.encode(plan)
    #expect(SegmentRecord.event(ofKey: key) == plan.event.id)
    for topic in [topic, "notify-followers.segments.bulk"] {
      let found = try #require(decode(message(value, key: key, topic: topic)).plan)
      #expect(found.event.id == plan.event.id && found.event.fields == plan.event.fields)
      #expect(found.first == 128 && found.count == 4096 && found.generation == 3)
      #expect(found.after(256).first == 256)
      expectSame(
        found.segments(130..<132)[1],
        Segment(event: plan.event, slice: .shard(index: 131, generation: 3), count: 4096))
    }
  }

  @Test(arguments: [
    #""plan":0,"generation":1,"segments":200"#, #""plan":200,"generation":1,"segments":200"#,
    #""plan":128,"segments":200"#, #""plan":128,"generation":1"#,
    #""plan":128,"generation":1,"shard":4,"segments":200"#,
    #""plan":128,"plain":"k","generation":1,"segments":200"#,
  ])
  func aPlanThatIsNoneIsMalformed(members: String) {
    #expect(decoded("{\"event\":\(sampleText),\(members)}").error?.code == .badSegment)
  }

  @Test func plainSetsComeBack() throws {
    let hostile = "followers:\"\\ \u{2028}{s42}é👩‍👩‍👧"
    for key in ["f", hostile, String(repeating: "k", count: 512)] {
      for segment in Audience.plain(key: key).segments(of: try event()) {
        expectSame(segment, try roundTrip(segment))
      }
    }
  }

  @Test func theDocumentIsCarriedAsItIs() throws {
    let segment = Segment(
      event: try event(" " + sampleText), slice: .shard(index: 3, generation: 1), count: 64)
    #expect(
      String(decoding: SegmentRecord.encode(segment).value, as: UTF8.self)
        == "{\"event\": \(sampleText),\"shard\":3,\"generation\":1,\"segments\":64}")
  }

  @Test func hostileEventsComeBack() throws {
    let data: JSONValue = [
      "quote": "\"}],{\"shard\":0", "controls": "\u{1}\r\n\u{7F}",
      "bidi": "\u{202E}\u{2066}\u{2028}",
      "marks": .string("x" + String(repeating: "\u{301}", count: 500)), "half": 0.1,
      "large": .integer(.max), "exponent": 1e300,
    ]
    let event = try #require(decode(try sample("data", data)).event)
    let segment = Audience.sharded(shards: 2, generation: 1, followers: 0).segments(of: event)[1]
    expectSame(segment, try roundTrip(segment))
  }

  @Test func anEventWithWhiteSpaceComesBack() throws {
    let event = try event("\n " + sampleText.replacing(",", with: " ,\r\n\t") + " \n")
    let segment = Audience.plain(key: "k").segments(of: event)[0]
    expectSame(segment, try roundTrip(segment))
  }

  @Test func theLargestEventStillFits() throws {
    let room = 64 * 1024 - sampleText.utf8.count
    let event = try event(sampleText + String(repeating: " ", count: room))
    for slice in [
      Segment.Slice.plain(key: String(repeating: "k", count: 512)),
      .shard(index: 0, generation: Int(Int32.max)),
    ] {
      let segment = Segment(event: event, slice: slice, count: 1)
      expectSame(segment, try roundTrip(segment))
    }
  }

  @Test func aSegmentMayBeReadBeforeItsEventsTime() throws {
    let segment = Audience.plain(key: "k").segments(of: try event())[0]
    let (key, value) = SegmentRecord.encode(segment)
    let early = decode(message(value, key: key, topic: topic), now: sampleTime - 86_400_000)
    #expect(early.segment != nil)
  }

  @Test(arguments: [
    #""segments":1"#, #""shard":0,"segments":1"#, #""generation":0,"segments":1"#,
    #""shard":0,"generation":0"#, #""shard":1,"generation":0,"segments":1"#,
    #""shard":-1,"generation":0,"segments":1"#, #""shard":0,"generation":-1,"segments":1"#,
    #""shard":0,"generation":2147483648,"segments":1"#, #""shard":0,"generation":0,"segments":0"#,
    #""shard":0,"generation":0,"segments":-9223372036854775808"#,
    #""shard":0,"generation":0,"segments":65537"#, #""shard":0.0,"generation":0,"segments":1"#,
    #""shard":"0","generation":0,"segments":1"#, #""shard":null,"generation":0,"segments":1"#,
    #""plain":"k""#, #""plain":"k","segments":2"#, #""plain":"k","shard":0,"segments":1"#,
    #""plain":"k","generation":0,"segments":1"#, #""plain":"","segments":1"#,
    #""plain":5,"segments":1"#, #""plain":"a\r\nb","segments":1"#,
    #""plain":"\u007f","segments":1"#, #""plain":null,"shard":0,"generation":0,"segments":1"#,
    "\"plain\":\"\(String(repeating: "k", count: 513))\",\"segments\":1",
  ])
  func badSegments(_ members: String) {
    #expect(decoded("{\"event\":\(sampleText),\(members)}").error?.code == .badSegment)
  }

  @Test func badRecords() throws {
    let good = #""shard":0,"generation":0,"segments":1"#
    #expect(decode(message(nil, topic: topic)).error?.code == .tombstone)
    #expect(decoded("[]").error?.code == .badSegment)
    #expect(decoded("{\(good)}").error?.code == .badSegment)
    #expect(decoded(sampleText).error?.code == .badSegment)
    #expect(decoded("{\"event\":null,\(good)}").error?.code == .wrongType)
    #expect(decoded("{\"event\":{},\(good)}").error?.code == .missingField)
    #expect(decoded("{\"event\":\(sampleText),\(good),\"x\":1}").error?.code == .unknownField)
    #expect(decoded("{\"event\":\(sampleText),\(good),\"shard\":0}").error?.code == .duplicateKey)
    let bad = JSONText.compact(try sample("id", "a b"))
    #expect(decoded("{\"event\":\(bad),\(good)}").error?.code == .badIdentifier)
    let whole = "{\"event\":\(sampleText),\(good)}"
    for count in 0..<whole.utf8.count {
      #expect(decoded(String(whole.prefix(count))).error?.code == .notJSON)
    }
    let large = whole + String(repeating: " ", count: 65 * 1024)
    #expect(decoded(large).error?.code == .tooLarge)
  }
}
