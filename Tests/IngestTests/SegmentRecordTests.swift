import Ingest
import Kafka
import Model
import Testing

@Suite struct SegmentRecordTests {
  @Test func comesBackAsItWas() throws {
    let event = try #require(
      decode(eventText(["stream": #"{"id":"b","title":"é \" \\ 👨‍👩‍👧‍👦"}"#])).event)
    let slices: [(Segment.Slice, Int)] = [
      (.shard(index: 0, generation: 1), 1), (.shard(index: 63, generation: 7), 64),
      (.plain(key: #"followers:{"s42"}"#), 1),
    ]
    for (slice, count) in slices {
      let segment = Segment(event: event, slice: slice, count: count)
      let record = SegmentRecord.encode(segment)
      #expect(record.key == Array("live-8f2c/\(segment.id)".utf8))
      let decoded = try #require(
        decodeSegment(String(decoding: record.value, as: UTF8.self)).segment)
      #expect(decoded.slice == slice && decoded.count == count)
      #expect(decoded.event.fields == event.fields)
      #expect(decoded.event.expiresAt == event.expiresAt)
      // Whatever became of white space, a segment made of it again is the same.
      let again = SegmentRecord.encode(decoded)
      #expect(decodeSegment(String(decoding: again.value, as: UTF8.self)).segment == decoded)
    }
  }

  @Test func embedsTheDocumentAsItIs() throws {
    let text = eventText()
    let event = try #require(decode(text).event)
    let record = SegmentRecord.encode(
      Segment(event: event, slice: .shard(index: 3, generation: 1), count: 64))
    #expect(
      String(decoding: record.value, as: UTF8.self)
        == #"{"event":\#(text),"shard":3,"generation":1,"segments":64}"#)
  }

  /// A worker whose clock lags must not refuse what another has planned.
  @Test func asksNoClock() throws {
    let late = eventText(["occurred_at": #""2026-11-22T08:00:00Z""#])
    let text = #"{"event":\#(late),"shard":0,"generation":1,"segments":1}"#
    #expect(decodeSegment(text).segment != nil)
  }

  @Test func theLargestEventFitsItsSegment() throws {
    let options = IngestOptions()
    let bare = eventText()
    let padding = String(repeating: " ", count: options.maximumEventBytes - bare.utf8.count)
    let event = try #require(decode(bare + padding).event)
    let record = SegmentRecord.encode(
      Segment(event: event, slice: .plain(key: String(repeating: "k", count: 512)), count: 1))
    #expect(decodeSegment(String(decoding: record.value, as: UTF8.self)).segment != nil)
    #expect(decode(bare + padding + " ").error?.code == .tooLarge)
  }

  @Test(arguments: [
    ("[]", IngestError.Code.badSegment), ("{}", .badSegment),
    (#"{"event":1,"shard":0,"generation":1,"segments":1}"#, .wrongType),
    (#"{"event":{},"shard":0,"generation":1,"segments":1}"#, .missingField),
    (#"{"event":E,"shard":0,"generation":1,"segments":0}"#, .badSegment),
    (#"{"event":E,"shard":0,"generation":1,"segments":65537}"#, .badSegment),
    (#"{"event":E,"shard":4,"generation":1,"segments":4}"#, .badSegment),
    (#"{"event":E,"shard":-1,"generation":1,"segments":4}"#, .badSegment),
    (#"{"event":E,"shard":"0","generation":1,"segments":4}"#, .badSegment),
    (#"{"event":E,"shard":0,"generation":-1,"segments":4}"#, .badSegment),
    (#"{"event":E,"shard":0,"segments":4}"#, .badSegment),
    (#"{"event":E,"shard":0,"generation":1}"#, .badSegment),
    (#"{"event":E,"plain":"k","segments":2}"#, .badSegment),
    (#"{"event":E,"plain":"k","shard":0,"segments":1}"#, .badSegment),
    (#"{"event":E,"plain":"","segments":1}"#, .badSegment),
    (#"{"event":E,"plain":"a\r\nb","segments":1}"#, .badSegment),
    (#"{"event":E,"plain":7,"segments":1}"#, .badSegment),
    (#"{"event":E,"shard":0,"generation":1,"segments":1,"x":1}"#, .unknownField),
    (#"{"event":E,"shard":0,"generation":1,"segments":1"#, .notJSON),
  ])
  func refuses(template: String, code: IngestError.Code) {
    let parts = template.split(separator: "E", omittingEmptySubsequences: false)
    let error = decodeSegment(parts.joined(separator: eventText())).error
    #expect(error?.code == code, "\(template): \(String(describing: error))")
  }
}

@Suite struct DeadLetterTests {
  let error = IngestError(.badTime, "occurred_at must be …")

  @Test func keepsTheRecordAndSaysWhy() {
    let value: [UInt8] = [0xFF, 0, 0x0A, 0x80]
    let letter = DeadLetter(
      message(value, headers: [KafkaHeader("trace", "abc")]), error: error, worker: "w1",
      time: "2026-11-21T08:00:01Z")
    #expect(letter.value == value && letter.key == Array("s42".utf8))
    #expect(
      letter.headers == [
        KafkaHeader("trace", "abc"), KafkaHeader("fanfare-error-code", "bad_time"),
        KafkaHeader("fanfare-error-reason", "occurred_at must be …"),
        KafkaHeader("fanfare-source", "notify-followers/3/1204"),
        KafkaHeader("fanfare-failed-at", "2026-11-21T08:00:01Z"),
        KafkaHeader("fanfare-worker", "w1"),
      ])
  }

  @Test func aTombstoneStaysOne() {
    let letter = DeadLetter(message(nil, key: nil), error: error, worker: "w", time: "t")
    #expect(letter.value == nil && letter.key == nil)
  }

  /// A record that was a dead letter before, or pretends to be one.
  @Test func ourHeadersOccurOnce() {
    let forged = (0..<1000).map { KafkaHeader("h\($0)", "v") }
    let letter = DeadLetter(
      message([], headers: [KafkaHeader("fanfare-error-code", "forged")] + forged), error: error,
      worker: "w", time: "t")
    #expect(letter.headers.count == DeadLetter.maximumOriginalHeaders + 5)
    #expect(
      letter.headers.filter { $0.name == "fanfare-error-code" }
        == [KafkaHeader("fanfare-error-code", "bad_time")])
  }
}
