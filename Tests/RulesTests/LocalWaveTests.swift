import Model
import Testing

@testable import Rules

/// Who is in which wave of an event for a local hour.
@Suite struct LocalWaveTests {
  private static let zones = TimeZones(
    [
      "Asia/Tokyo": .fixed(secondsEast: 9 * 3600),
      "Europe/Berlin": ZoneClock(
        offset: 3600,
        changes: [
          .init(at: milliseconds("2026-03-29T01:00:00Z") / 1000, offset: 7200),
          .init(at: milliseconds("2026-10-25T01:00:00Z") / 1000, offset: 3600),
        ]),
      "UTC": .utc,
    ], fallback: .fixed(secondsEast: 9 * 3600))

  private func waves(_ zone: String, _ local: String) -> [Int] {
    let event = Event(
      id: "e1", app: "a", streamer: "s1", stream: "b1", template: "t", occurredAt: 0,
      expiresAt: 0, sendAt: SendTime(local: local), fields: [:], document: [])
    var zone = zone
    return (0..<LocalWaves.count).filter { number in
      let segment = Segment(
        event: event, slice: .named, count: 1, wave: number)
      guard let wave = LocalWave(segment, Self.zones) else { return false }
      return zone.withUTF8 { wave.contains(UnsafeRawBufferPointer($0)) }
    }
  }

  private func wave(_ minutes: Int) -> [Int] { [LocalWaves.wave(ofOffset: minutes * 60)] }

  @Test(arguments: [
    ("Asia/Tokyo", "2026-12-01T18:00", 540), ("Europe/Berlin", "2026-12-01T18:00", 60),
    ("Europe/Berlin", "2026-07-01T18:00", 120), ("utc", "2026-12-01T18:00", 0),
    ("UTC+05:30", "2026-12-01T18:00", 330), ("GMT-3", "2026-12-01T18:00", -180),
    // The fallback's.
    ("", "2026-12-01T18:00", 540), ("Nowhere/At_all", "2026-12-01T18:00", 540),
    // The day on which the clocks are changed: by the hour, not by the day.
    ("Europe/Berlin", "2026-03-29T01:59", 60), ("Europe/Berlin", "2026-03-29T03:00", 120),
    ("Europe/Berlin", "2026-10-25T01:59", 120), ("Europe/Berlin", "2026-10-25T03:00", 60),
  ])
  func eachReaderIsInOneWave(zone: String, local: String, minutes: Int) {
    #expect(waves(zone, local) == wave(minutes))
  }

  /// An hour that is there twice, or not at all, is in one wave all the same.
  @Test(arguments: ["2026-03-29T02:30", "2026-10-25T02:30"])
  func oddHoursAreInOneWave(local: String) {
    let found = waves("Europe/Berlin", local)
    #expect(found == wave(60) || found == wave(120))
  }

  @Test func onlyALocalHourHasWaves() {
    let event = Event(
      id: "e1", app: "a", streamer: "s1", stream: "b1", template: "t", occurredAt: 0,
      expiresAt: 0, sendAt: .at(5), fields: [:], document: [])
    #expect(LocalWave(Segment(event: event, slice: .named, count: 1), Self.zones) == nil)
  }
}
