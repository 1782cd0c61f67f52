import JSON
import Kafka
import Model
import Testing

@testable import Ingest

@Suite struct SendTimeTests {
  private static let hour: Int64 = 3_600_000

  @Test func theLifetimeCountsFromTheTime() throws {
    let event = try #require(decode(try sample("send_at", "2026-11-21T18:00:00Z")).event)
    #expect(event.sendAt == .at(sampleTime + 10 * Self.hour))
    #expect(event.expiresAt == sampleTime + 10 * Self.hour + 900_000)
    let local = try #require(
      decode(try sample("send_at", ["local": "2026-11-21T18:00"])).event)
    #expect(local.sendAt == .local(sampleTime + 10 * Self.hour))
    #expect(local.expiresAt == sampleTime + 22 * Self.hour + 900_000, "the last wave's")
    #expect(decode(sampleText).event?.sendAt == nil)
  }

  @Test(arguments: [
    ("\"18:00\"", IngestError.Code.badTime), ("5", .wrongType), ("null", .wrongType),
    ("[]", .wrongType), ("{}", .unknownField), ("{\"local\":5}", .wrongType),
    ("{\"local\":\"2026-11-21T18:00Z\"}", .badTime),
    ("{\"local\":\"2026-11-21T18:00\",\"zone\":\"UTC\"}", .unknownField),
    ("{\"at\":\"2026-11-21T18:00:00Z\"}", .unknownField),
  ])
  func otherFormsAreRefused(text: String, code: IngestError.Code) throws {
    let value = try JSONValue.parse(Array("[\(text)]".utf8)).array?[0]
    #expect(decode(try sample("send_at", value)).error?.code == code)
  }

  /// The edge, by the last wave. Another clock may be asked first.
  @Test func noEventIsScheduledTooFarAhead() throws {
    let stage = IngestStage(options: IngestOptions())
    let week = 7 * 24 * Self.hour
    for (sendAt, ahead) in [
      (SendTime.at(sampleTime + week), Int64(0)),
      (.local(sampleTime + week - 12 * Self.hour), 0),
    ] {
      let value = try sample("send_at", SendTimeDecoder.value(sendAt))
      #expect(decode(value).event?.sendAt == sendAt, "\(ahead)")
      let bytes = Array(JSONText.compact(value).utf8)
      let early = stage.decode(message(bytes), now: sampleTime - 1)
      guard case .early(let event, let error) = early else {
        Issue.record("it is taken: \(early)")
        continue
      }
      #expect(error.code == .badTime && error.reason.contains("events.maximum_send_ahead"))
      #expect(stage.isEarly(event, at: sampleTime - 1) && !stage.isEarly(event, at: sampleTime))
    }
  }

  /// A release carries the time that holds now, and nothing else of it is changed.
  @Test func aReleaseHasTheNewTime() throws {
    let stage = IngestStage(options: IngestOptions())
    let event = try #require(decode(try sample("send_at", "2026-11-21T18:00:00Z")).event)
    #expect(
      try stage.event(document: event.document, sendAt: .at(sampleTime + 10 * Self.hour)) == event)
    for sendAt in [SendTime.at(sampleTime + Self.hour + 5), .local(sampleTime)] {
      let released = try stage.event(document: event.document, sendAt: sendAt)
      #expect(released.sendAt == sendAt && released.fields == event.fields)
      #expect(released.expiresAt == sendAt.due.upperBound + 900_000)
      #expect(try stage.event(document: released.document) == released)
    }
  }

  /// What stands beside the document is kept, whatever time holds.
  @Test func aNewTimeKeepsTheTraceAndTheAppend() throws {
    let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    let origin = EventOrigin(traceparent: traceparent, appendedAt: sampleTime)
    let stage = IngestStage(options: IngestOptions())
    let known = try #require(decode(try sample("send_at", "2026-11-21T18:00:00Z")).event)
    let event = try stage.event(document: known.document, origin: origin)
    let later = try stage.event(event, at: .at(sampleTime + Self.hour))
    #expect(later.sendAt == .at(sampleTime + Self.hour))
    #expect(later.trace?.traceparent == traceparent && later.appendedAt == sampleTime)
  }

  /// A release is written when the event is due: its append was before.
  @Test func onlyAReleaseSaysWhenItsEventWasAppended() throws {
    let value = JSONText.compact(try sample("send_at", "2026-11-21T18:00:00Z"))
    let origin = EventOrigin(traceparent: "", appendedAt: sampleTime - 5_000)
    func appended(_ headers: [KafkaHeader]) -> Int64? {
      decode(
        KafkaMessage(
          topic: "notify-followers", partition: 3, offset: 17, key: nil, value: Array(value.utf8),
          timestamp: sampleTime, headers: headers)
      ).event?.appendedAt
    }
    #expect(appended(ReleaseRecord.headers(source: "t/0/7", origin: origin)) == sampleTime - 5_000)
    #expect(appended(ReleaseRecord.headers(source: "t/0/7")) == sampleTime)
    #expect(appended(origin.headers) == sampleTime, "a backend's record is no release")
  }

  @Test func aReleaseNamesItsSource() {
    let headers = ReleaseRecord.headers(source: "notify-followers/0/7")
    #expect(ReleaseRecord.source(of: message([], headers: headers)) == "notify-followers/0/7")
    #expect(ReleaseRecord.source(of: message([])) == nil)
    // A dead letter keeps it, and sent in again is a release still.
    let letter = DeadLetter(
      message([], headers: headers), error: IngestError(.unknownTemplate, ""), worker: "w",
      time: "")
    #expect(ReleaseRecord.source(of: message([], headers: letter.headers)) != nil)
  }

  /// A segment's record says its wave, and only that of a local hour does.
  @Test func wavesComeBack() throws {
    let local = try #require(decode(try sample("send_at", ["local": "2026-11-21T18:00"])).event)
    let plan = RemainingPlan(
      event: local, audience: .sharded(shards: 2, generation: 1, followers: 0))
    let topic = "notify-followers.segments"
    for segment in plan.segments(0..<plan.total) {
      let (key, value) = SegmentRecord.encode(segment)
      let read = try #require(decode(message(value, key: key, topic: topic)).segment)
      #expect(read.id == segment.id && read.wave == segment.wave && read.planned == plan.total)
      #expect(read.event.expiresAt == segment.event.expiresAt)
      let list = segment.straggling(
        [Straggler(user: "u1", member: "apns:production:com.example.live:aa", history: .init())],
        number: 3)
      let late = try #require(
        decode(message(SegmentRecord.encode(list).value, topic: "notify-followers.stragglers"))
          .segment)
      #expect(late.wave == segment.wave && late.event.expiresAt == segment.event.expiresAt)
    }
    let (_, rest) = SegmentRecord.encode(plan.after(70))
    let next = try #require(decode(message(rest, topic: topic)).plan)
    #expect(next.first == 70 && next.total == plan.total)
    for (text, wave) in [
      (sampleText, #","wave":1"#),
      (
        JSONText.compact(
          try sample(
            "send_at", ["local": "2026-11-21T18:00"])), ""
      ),
      (
        JSONText.compact(
          try sample(
            "send_at", ["local": "2026-11-21T18:00"])), #","wave":40"#
      ),
    ] {
      let record = #"{"event":\#(text),"shard":0,"generation":1\#(wave),"segments":2}"#
      #expect(decode(message(Array(record.utf8), topic: topic)).error?.code == .badSegment)
    }
  }
}
