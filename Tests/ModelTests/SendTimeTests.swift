import Testing

@testable import Model

@Suite struct SendTimeTests {
  /// 2026-12-01T18:00:00Z
  private static let evening: Int64 = 1_796_148_000_000

  private func event(_ sendAt: SendTime?) -> Event {
    Event(
      id: "e1", app: "com.example.live", streamer: "s1", stream: "b1", template: "go-live",
      occurredAt: 0, expiresAt: (sendAt?.due.upperBound ?? 0) + 900_000, sendAt: sendAt,
      fields: [:], document: [])
  }

  @Test func textsAreReadAndWritten() {
    #expect(SendTime(moment: "2026-12-01T18:00:00Z") == .at(Self.evening))
    #expect(SendTime(moment: "2026-12-01T19:00:00.250+01:00") == .at(Self.evening + 250))
    #expect(SendTime.at(Self.evening + 250).text == "2026-12-01T18:00:00.250Z")
    #expect(SendTime.at(Self.evening).text == "2026-12-01T18:00:00Z")
    #expect(SendTime(local: "2026-12-01T18:00") == .local(Self.evening))
    #expect(SendTime.local(Self.evening).text == "2026-12-01T18:00")
    for text in ["2026-12-01", "2026-12-01T18:00Z", "2026-12-01T18:00:00", "2026-13-01T18:00", ""] {
      #expect(SendTime(local: text) == nil, "\(text)")
    }
    #expect(SendTime(moment: "2026-12-01T18:00") == nil)
  }

  /// From the first island to see the evening to the last.
  @Test func wavesFollowTheSun() {
    let due = (0..<LocalWaves.count).map { LocalWaves.due($0, local: Self.evening) }
    #expect(due == due.sorted() && Set(due).count == due.count)
    #expect(due[0] == Self.evening - 14 * 3_600_000)
    #expect(due[due.count - 1] == Self.evening + 12 * 3_600_000)
    #expect(SendTime.local(Self.evening).due == due[0]...due[due.count - 1])
    #expect(SendTime.at(5).due == 5...5)
  }

  /// Nobody is told before the hour, nor an hour after it.
  @Test func eachOffsetHasAWaveAtOrAfterItsHour() {
    for minutes in stride(from: -12 * 60, through: 14 * 60, by: 5) {
      let wave = LocalWaves.wave(ofOffset: minutes * 60)
      let late = LocalWaves.due(wave, local: 0) + Int64(minutes) * 60_000
      #expect(late >= 0 && late <= 3_600_000, "\(minutes)")
    }
    for (offset, minutes) in zip(0..., LocalWaves.offsets) {
      #expect(LocalWaves.wave(ofOffset: Int(minutes) * 60) == offset)
    }
  }

  @Test func aWaveHasItsOwnExpiry() {
    let local = event(.local(Self.evening))
    #expect(local.waveCount == LocalWaves.count && event(.at(5)).waveCount == 1)
    #expect(event(nil).waveCount == 1 && event(nil).due(ofWave: 0) == nil)
    for wave in 0..<LocalWaves.count {
      let due = LocalWaves.due(wave, local: Self.evening)
      #expect(local.inWave(wave).expiresAt == due + 900_000)
    }
    #expect(event(.at(5)).inWave(0) == event(.at(5)))
  }

  /// A plan holds each segment of each wave once, and says which of them are due.
  @Test func aPlanGoesWaveByWave() {
    let local = event(.local(Self.evening))
    let plan = RemainingPlan(
      event: local, audience: .sharded(shards: 4, generation: 2, followers: 0))
    #expect(plan.total == 4 * LocalWaves.count)
    let segments = plan.segments(0..<plan.total)
    #expect(Set(segments.map(\.id)).count == plan.total)
    #expect(segments.allSatisfy { $0.planned == plan.total && $0.count == 4 })
    #expect(segments[5].id == "2.1@1" && segments[5].wave == 1)
    let audience = Audience.sharded(shards: 4, generation: 2, followers: 0)
    #expect(audience.segments(of: local) == segments)
    #expect(audience.segmentIDs(waves: LocalWaves.count) == segments.map(\.id))
    let first = LocalWaves.due(0, local: Self.evening)
    #expect(plan.due(at: first - 1) == 0 && plan.due(at: first) == 4)
    #expect(plan.due(at: .max) == plan.total)
    #expect(plan.due(of: 4) == LocalWaves.due(1, local: Self.evening))
    let usual = RemainingPlan(event: event(nil), audience: audience)
    #expect(usual.total == 4 && usual.due(at: 0) == 4 && usual.segments(1..<2)[0].id == "2.1")
  }

  /// A set of one segment has one in each wave.
  @Test(arguments: [
    (EventAudience.users(["u1"]), Audience.named, "named@39"),
    (.followers, .plain(key: "f:s1"), "plain@39"),
  ])
  func setsOfOneSegmentHaveWaves(addressed: EventAudience, audience: Audience, last: String) {
    let event = Event(
      id: "e1", app: "a", streamer: "s1", stream: "b1", template: "t", occurredAt: 0,
      expiresAt: 0, sendAt: .local(Self.evening), audience: addressed, fields: [:], document: [])
    let plan = RemainingPlan(event: event, audience: audience)
    #expect(plan.segments(39..<40).map(\.id) == [last])
    #expect(audience.segments(of: event).last == plan.segments(39..<40)[0])
  }

  @Test func stragglersKeepTheirWave() {
    let segment = RemainingPlan(
      event: event(.local(Self.evening)), audience: .sharded(shards: 1, generation: 1, followers: 0)
    ).segments(7..<8)[0]
    let list = segment.straggling([], number: 5)
    #expect(list.wave == 7 && list.event == segment.event && list.id == "1.0@7~0000000000000005")
  }
}
