import Glibc
import Model
import Testing
import Text

@testable import Rules

/// The system's own files, and bytes that are none.
@Suite struct ZoneFileTests {
  private static func bytes(_ name: String) throws -> [UInt8] {
    let file = try #require(fopen("/usr/share/zoneinfo/\(name)", "r"))
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: ZoneFile.maximumBytes)
    bytes.removeLast(bytes.count - fread(&bytes, 1, bytes.count, file))
    return bytes
  }

  private static let since = milliseconds("2024-01-01T00:00:00Z") / 1000

  private func clock(_ name: String) throws -> ZoneClock {
    try #require(ZoneFile.clock(try Self.bytes(name), since: Self.since))
  }

  private func time(_ clock: ZoneClock, _ text: String) -> String {
    let minute = clock.minuteOfDay(at: milliseconds(text))
    return "\(minute / 60):\(minute % 60 < 10 ? "0" : "")\(minute % 60)"
  }

  /// Nobody's clock shows another hour than that of an event for a local hour.
  @Test func everyZoneHasAWaveOfItsOwn() throws {
    var found: Set<Int> = []
    for name in ZoneNames.zones where !name.hasPrefix("Etc/") {
      guard let clock = try? clock(name) else { continue }
      for local in ["2026-01-15T18:00:00Z", "2026-07-15T18:00:00Z", "2027-01-15T18:00:00Z"] {
        let offset = clock.secondsEast(showing: milliseconds(local))
        let wave = LocalWaves.wave(ofOffset: offset)
        #expect(LocalWaves.due(wave, local: 0) == Int64(-offset) * 1000, "\(name)")
        found.insert(wave)
      }
    }
    #expect(found.count > 30)
  }

  /// The last second before a change and the change itself, both ways; half-hour and quarter-hour
  /// zones; the south, where summer is at the new year; half an hour of summer time; winter time
  /// that is the exception; years behind what a file lists.
  @Test(arguments: [
    ("Europe/Berlin", "2026-03-29T00:59:59Z", "1:59"),
    ("Europe/Berlin", "2026-03-29T01:00:00Z", "3:00"),
    ("Europe/Berlin", "2026-10-25T00:59:59Z", "2:59"),
    ("Europe/Berlin", "2026-10-25T01:00:00Z", "2:00"),
    ("America/New_York", "2026-03-08T06:59:59Z", "1:59"),
    ("America/New_York", "2026-03-08T07:00:00Z", "3:00"),
    ("America/New_York", "2026-11-01T05:59:59Z", "1:59"),
    ("America/New_York", "2026-11-01T06:00:00Z", "1:00"),
    ("Asia/Kathmandu", "2026-06-01T00:00:00Z", "5:45"),
    ("Asia/Kolkata", "2026-06-01T00:00:00Z", "5:30"),
    ("Australia/Sydney", "2026-01-01T00:00:00Z", "11:00"),
    ("Australia/Sydney", "2026-04-04T15:59:59Z", "2:59"),
    ("Australia/Sydney", "2026-04-04T16:00:00Z", "2:00"),
    ("Australia/Sydney", "2026-10-03T16:00:00Z", "3:00"),
    ("Australia/Lord_Howe", "2026-01-01T00:00:00Z", "11:00"),
    ("Australia/Lord_Howe", "2026-07-01T00:00:00Z", "10:30"),
    ("Pacific/Chatham", "2026-01-01T00:00:00Z", "13:45"),
    ("Europe/Dublin", "2026-07-01T12:00:00Z", "13:00"),
    ("Europe/Dublin", "2026-12-01T12:00:00Z", "12:00"),
    ("America/Argentina/Ushuaia", "2026-07-01T00:00:00Z", "21:00"),
    ("UTC", "2026-07-01T00:01:00Z", "0:01"),
    ("Europe/Berlin", "2041-07-01T12:00:00Z", "14:00"),
    ("Europe/Berlin", "2041-12-01T12:00:00Z", "13:00"),
    ("Australia/Sydney", "2041-01-01T00:00:00Z", "11:00"),
  ])
  func clocksShowWhatTheyShouldShow(zone: String, at moment: String, shown: String) throws {
    #expect(time(try clock(zone), moment) == shown)
  }

  /// In the night in which an hour is left out, and in the one that has an hour twice.
  @Test func quietHoursGoByTheClockOnTheWall() throws {
    let zones = TimeZones(["B": try clock("Europe/Berlin")])
    #expect(zones.knows("B") && !zones.knows("C") && !zones.knows(""))
    let rules = RecipientRules(timeZones: zones)
    func isQuiet(_ hours: String, _ moment: String) -> Bool {
      verdict(rules, at: milliseconds(moment), [.quiet: hours, .timeZone: "B"]).suppressedBy
        == .quiet
    }
    #expect(isQuiet("01:30-02:30", "2026-03-29T00:59:00Z"))
    #expect(!isQuiet("01:30-02:30", "2026-03-29T01:00:00Z"), "it is three o'clock")
    #expect(isQuiet("02:30-03:30", "2026-03-29T01:00:00Z"))
    #expect(!isQuiet("02:00-03:00", "2026-03-29T01:00:00Z"), "there is no such hour")
    #expect(isQuiet("02:00-02:30", "2026-10-25T00:10:00Z"), "the first time")
    #expect(!isQuiet("02:00-02:30", "2026-10-25T00:40:00Z"))
    #expect(isQuiet("02:00-02:30", "2026-10-25T01:10:00Z"), "the second time")
    #expect(isQuiet("22:00-07:00", "2026-03-29T04:59:00Z"))
    #expect(!isQuiet("22:00-07:00", "2026-03-29T05:00:00Z"))
  }

  /// Wherever a clock is made, it shows the same from then on.
  @Test(arguments: ["Europe/Berlin", "Australia/Sydney", "America/St_Johns", "Africa/Casablanca"])
  func whatIsForgottenChangesNothing(zone: String) throws {
    let bytes = try Self.bytes(zone)
    let early = try #require(ZoneFile.clock(bytes, since: 0, years: 80))
    for week in 0..<1_200 {
      let now = Self.since + Int64(week) * 604_800
      let late = try #require(ZoneFile.clock(bytes, since: now))
      #expect(late.minuteOfDay(at: now * 1000) == early.minuteOfDay(at: now * 1000))
      #expect(late.changes.first.map { $0.at > now } != false, "the search ends with the first")
    }
  }

  /// A file that has no list of changes, only the rule: the shape that the database's own tools
  /// make by now.
  @Test(arguments: ["Europe/Berlin", "Australia/Sydney", "America/New_York"])
  func theRuleAloneSaysTheSame(zone: String) throws {
    let bytes = try Self.bytes(zone)
    let text = Array(try #require(bytes.split(separator: 0x0A).last))
    let header = Array("TZif2".utf8) + [UInt8](repeating: 0, count: 15)
    let counts: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]
    let block: [UInt8] = [0, 0, 0, 0, 0, 0, 0]
    let slim = header + counts + block + header + counts + block + [0x0A] + text + [0x0A]
    let whole = try clock(zone)
    let rule = try #require(ZoneFile.clock(slim, since: Self.since))
    for hour in 0..<5_000 {
      let now = (Self.since + Int64(hour) * 12_600) * 1000
      #expect(whole.minuteOfDay(at: now) == rule.minuteOfDay(at: now))
    }
  }

  @Test func whatIsNoFileIsNone() throws {
    let sound = try Self.bytes("Europe/Berlin")
    #expect(ZoneFile.clock([], since: 0) == nil)
    for length in stride(from: 0, to: sound.count, by: 7) {
      #expect(ZoneFile.clock(Array(sound.prefix(length)), since: 0) == nil)
    }
    // Whatever a broken byte says, it is read or refused, and nothing traps.
    var random = SplitMix64(seed: 7)
    for _ in 0..<3_000 {
      var broken = sound
      broken[Int(random.next() % UInt64(broken.count))] = UInt8(truncatingIfNeeded: random.next())
      _ = ZoneFile.clock(broken, since: Self.since)?.minuteOfDay(at: Self.since * 1000)
    }
    #expect(
      ZoneFile.clock([UInt8](repeating: 0, count: ZoneFile.maximumBytes + 1), since: 0) == nil)
  }
}
