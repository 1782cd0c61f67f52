import Ingest
import Kafka
import Model
import Testing

@testable import DeadLetters

@Suite struct LetterJudgeTests {
  private let judge = LetterJudge(IngestOptions()) { $0 == "gone" ? "there is none" : nil }

  private func judged(
    _ letter: KafkaMessage, body: [UInt8]? = nil, now: Int64 = Samples.now
  ) -> (preview: LetterPreview, record: LetterCopy?) {
    judge.judge(letter, body: body, now: now)
  }

  @Test func aRecordGoesBackAsItWas() throws {
    let value = Samples.event("e1")
    let (preview, record) = judged(
      Samples.letter(value, error: IngestError(.unprocessable, "Redis")))
    #expect(preview == .fits("event e1"))
    let copy = try #require(record)
    #expect(copy.topic == "notify-followers")
    #expect(copy.key == Array("s1".utf8) && copy.value == value)
    #expect(
      copy.headers == [
        KafkaHeader("fanfare-source", "notify-followers/3/17"),
        KafkaHeader("fanfare-replayed", "0:12 2026-11-21T08:00:00.000Z"),
      ])
  }

  @Test func headersThatMeanSomethingStay() throws {
    let kept = [
      KafkaHeader("ce_specversion", "1.0"), KafkaHeader("CE_id", "c1"),
      KafkaHeader("content-type", "application/json"), KafkaHeader("traceparent", "00-a-b-01"),
      KafkaHeader("fanfare-due", "notify-followers/3/5"), KafkaHeader("fanfare-appended", "1"),
    ]
    let others = [KafkaHeader("authorization", "x"), KafkaHeader("fanfare-replayed", "0:1 then")]
    let letter = Samples.letter(Samples.event("e1"), headers: kept + others)
    let names = try #require(judged(letter).record).headers.map(\.name)
    #expect(names == kept.map(\.name) + ["fanfare-source", "fanfare-replayed"])
    // A corrected body says by itself what it is.
    let corrected = judged(letter, body: Samples.event("e1")).record
    #expect(
      corrected?.headers.map(\.name) == [
        "traceparent", "fanfare-due", "fanfare-appended", "fanfare-source", "fanfare-replayed",
      ])
  }

  /// A worker does not send it at once.
  @Test func anEventThatIsNotDueIsSaidToWait() {
    let letter = Samples.letter(Samples.event("e1", more: #","send_at":"2026-11-21T18:00:00Z""#))
    #expect(
      judged(letter).preview
        == .fits("event e1, which waits for its send_at, 2026-11-21T18:00:00Z"))
    let due = judged(letter, now: Samples.now + 10 * 3_600_000)
    #expect(due.preview == .fits("event e1"))
  }

  /// Redis has its time; another event with the same headers has only its own.
  @Test func aNewTimeInTheCopyOfAReleaseIsSaidToCountForNothing() {
    let letter = Samples.letter(
      Samples.event("e1"), headers: [KafkaHeader("fanfare-due", "notify-followers/3/5")])
    func copy(_ id: String) -> LetterPreview {
      judged(
        letter, body: Samples.event(id, more: #","send_at":"2026-11-21T18:00:00Z""#)
      ).preview
    }
    #expect(copy("e1").fits && copy("e1").why.contains("sent at once unless it was rescheduled"))
    #expect(copy("e2").why.contains("waits for its send_at"))
  }

  @Test func whatWouldNotBeSentIsSaid() {
    let early = Samples.now - 3_600_000
    let late = Samples.now + 900_000
    #expect(judged(Samples.letter(Samples.event("e1")), now: late).preview == .expired(late))
    for (letter, word) in [
      (Samples.letter(Samples.event("e1", more: #","x":1"#)), "unknown_field"),
      (Samples.letter(nil), "tombstone"),
      (Samples.letter(Samples.event("e1"), key: "s2"), "key_mismatch"),
      (Samples.letter(Samples.event("e1", more: #","template":"gone""#)), "there is none"),
      (Samples.letter(Samples.event("e1"), topic: "other"), "no topic of the settings"),
      (KafkaMessage(topic: "d", partition: 0, offset: 0, key: nil, value: nil), "fanfare-source"),
    ] {
      let preview = judged(letter).preview
      #expect(!preview.fits && preview.why.contains(word), "\(preview)")
    }
    let preview = judged(Samples.letter(Samples.event("e1")), now: early).preview
    #expect(preview.why.contains("occurred_in_future"), "\(preview)")
  }

  @Test func aLetterWithoutItsBodyCannotBeReplayed() {
    let record = KafkaMessage(
      topic: "notify-followers", partition: 3, offset: 17, key: nil, value: [0x20])
    let abridged = DeadLetter(
      record, error: IngestError(.tooLarge, "large"), worker: "w", time: "t"
    ).abridged()
    let letter = KafkaMessage(
      topic: "d", partition: 0, offset: 12, key: nil, value: nil, headers: abridged.headers)
    let (preview, copy) = judged(letter)
    #expect(preview.why.contains("notify-followers/3/17") && copy == nil)
    #expect(judged(letter, body: Samples.event("e1")).preview == .fits("event e1"))
  }

  @Test func aCorrectedEventGetsItsOwnStreamersKey() {
    let letter = Samples.letter(Array("{".utf8), key: "wrong")
    let copy = judged(letter, body: Samples.event("e1", streamer: "s9")).record
    #expect(copy?.key == Array("s9".utf8))
    #expect(judged(letter, body: Array("{".utf8)).record?.key == Array("wrong".utf8))
  }

  @Test func segmentsGoBackToTheirOwnTopic() throws {
    let event = try IngestStage(options: IngestOptions()).event(document: Samples.event("e1"))
    let segment = Segment(event: event, slice: .shard(index: 2, generation: 1), count: 8)
    let (key, value) = SegmentRecord.encode(segment)
    let letter = Samples.letter(
      value, key: String(decoding: key, as: UTF8.self), topic: "notify-followers.segments",
      error: IngestError(.unprocessable, "Redis"))
    let (preview, copy) = judged(letter)
    #expect(preview == .fits("a segment of event e1"))
    #expect(copy?.topic == "notify-followers.segments")
    #expect(copy?.key == key && copy?.value == value)
  }
}
