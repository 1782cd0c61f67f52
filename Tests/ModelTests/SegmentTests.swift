import Model
import Testing

@Suite struct SegmentTests {
  private let event = Event(
    id: "e", app: "a", streamer: "s", stream: "b", template: "t", occurredAt: 1, expiresAt: 2,
    fields: [:], document: [])

  @Test func oneSegmentAShard() {
    let audience = Audience.sharded(shards: 4, generation: 7, followers: 100)
    #expect(audience.segmentCount == 4)
    let segments = audience.segments(of: event)
    #expect(segments.map(\.id) == ["7.0", "7.1", "7.2", "7.3"])
    #expect(segments.allSatisfy { $0.count == 4 && $0.event == event })
  }

  @Test func aPlainSetIsOneSegment() {
    let segments = Audience.plain(key: "k").segments(of: event)
    #expect(Audience.plain(key: "k").segmentCount == 1)
    #expect(segments == [Segment(event: event, slice: .plain(key: "k"), count: 1)])
    #expect(segments[0].id == "plain")
  }

  @Test func nobodyIsNoSegment() {
    #expect(Audience.none.segmentCount == 0)
    #expect(Audience.none.segments(of: event) == [])
  }

  @Test func fieldsStandRowByRow() {
    let page = RecipientPage(fieldNames: ["locale", "name"])
    for index in 0..<6 { page.fields.append(page.bytes.append(utf8: "\(index)")) }
    #expect(page.bytes.string(page.field(0, of: 0)) == "0")
    #expect(page.bytes.string(page.field(1, of: 0)) == "1")
    #expect(page.bytes.string(page.field(1, of: 2)) == "5")
  }

  @Test func everyOutcomeHasItsCounter() {
    let tally = SegmentTally()
    #expect(tally.settled == 0)
    tally.count(.accepted)
    tally.count(.expired, times: 2)
    tally.count(.cancelled, times: 3)
    tally.count(.suppressed(.muted), times: 3)
    tally.count(.suppressed(.cap))
    let reasons = RejectionReason.ours + RejectionReason.all(of: .apns)
    for reason in reasons {
      tally.count(.rejected(reason), times: Int(reason.index))
    }
    #expect(tally.accepted == 1)
    #expect(tally.expired == 2)
    #expect(tally.cancelled == 3)
    #expect(tally.suppressed == 4 && tally.suppressions[.muted] == 3)
    #expect(tally.settled == 10 + 37 * 38 / 2)
    // The first was counted zero times.
    #expect(tally.rejections.map(\.reason) == Array(reasons.dropFirst()))
    #expect(tally.rejections.map(\.count) == Array(1...37))
  }
}
