import Testing

@testable import Rules

/// Time zones as devices write them.
@Suite struct ZoneNameTests {
  private static let east = ZoneClock.fixed(secondsEast: 9 * 3600)
  private static let zones = TimeZones([
    "Asia/Tokyo": east, "UTC": .utc, "America/Los_Angeles": .fixed(secondsEast: -8 * 3600),
  ])

  private func offset(_ text: String) -> Int? {
    Array(text.utf8).withUnsafeBytes { ZoneOffset.seconds($0) }
  }

  @Test(arguments: [
    ("GMT+0900", 32_400), ("GMT+9", 32_400), ("gmt+09:00", 32_400), ("UTC+3", 10_800),
    ("UTC+03:00", 10_800), ("+09:00", 32_400), ("+0530", 19_800), ("-3", -10_800),
    ("GMT-03:30", -12_600), ("UT+1", 3_600), ("Z", 0), ("z", 0), ("utc", 0), ("GMT", 0),
    ("UTC+00:00", 0), ("GMT+14", 50_400), ("GMT-12", -43_200), ("GMT+5:45", 20_700),
    ("UTC-0930", -34_200),
  ])
  func anOffsetIsEastOfGreenwich(_ text: String, _ seconds: Int) {
    #expect(offset(text) == seconds)
  }

  /// POSIX' signs: of the database, and of nothing else.
  @Test(arguments: [("Etc/GMT-9", 32_400), ("etc/gmt+3", -10_800), ("Etc/UTC", 0)])
  func inTheDatabaseItIsWest(_ text: String, _ seconds: Int) {
    #expect(offset(text) == seconds)
  }

  @Test(arguments: [
    "", "+", "GMT+", "GMT+90", "GMT+15", "GMT-13", "UTC+9:0", "UTC+09:60", "UTC+090000", "9",
    "0900", "GMT9", "GMT +9", "JST-9", "Etc/", "Etc/+9", "+9a", "+:30", "GMT+٩", "x+9",
    // Minutes of JavaScript.
    "-330", "-540", "+330", "UTC-330", "GMT-540", "GMT+900",
    // No database has them.
    "Etc/UTC+3", "Etc/UT+5", "Etc/GMT+5:30", "Etc/GMT+0530",
  ])
  func anythingElseIsNone(_ text: String) {
    #expect(offset(text) == nil)
  }

  @Test(arguments: [
    "Asia/Tokyo", "asia/tokyo", "ASIA/TOKYO", "Japan", "japan", "GMT+0900", "Etc/GMT-9",
  ])
  func aNameIsUnderstoodInWhateverCase(_ name: String) {
    #expect(Self.zones.clock(named: name) == Self.east)
  }

  /// Debian keeps former names in a package of its own.
  @Test func formerNamesComeWithTheirZone() {
    #expect(Self.zones.clock(named: "US/Pacific") == .fixed(secondsEast: -8 * 3600))
    #expect(Self.zones.clock(named: "america/los angeles") == .fixed(secondsEast: -8 * 3600))
    #expect(Self.zones.clock(named: "Asia/Calcutta") == nil)
    #expect(ZoneNames.understands("Asia/Calcutta") && ZoneNames.understands("Asia/Kolkata"))
  }

  /// Those that the database of this system has: whoever writes a profile is refused none.
  @Test func everyNameOfTheDatabaseIsKnown() {
    #expect(ZoneNames.zones.count == 446)
    #expect(ZoneNames.links.count == 151)
    for name in ZoneNames.zones + ZoneNames.links.map(\.zone) {
      #expect(ZoneNames.understands(name), "\(name)")
    }
  }

  /// For whoever wrote what nobody knows. A name that is far away is no help.
  @Test(arguments: [
    ("-330", "UTC+05:30"), ("-540", "UTC+09:00"), ("UTC-330", "UTC+05:30"), ("+180", "UTC-03:00"),
    ("-60", "UTC+01:00"), ("GMT-480", "UTC+08:00"), ("Asia/Tokio", "did you mean Asia/Tokyo?"),
    ("Europe/Berln", "did you mean Europe/Berlin?"),
    ("America/Los_Angls", "did you mean America/Los_Angeles?"), ("JST", "give a city"),
  ])
  func aHintSaysWhatWasMeant(_ text: String, _ words: String) {
    #expect(!ZoneNames.understands(text))
    #expect(ZoneNames.hint(text).contains(words), "\(ZoneNames.hint(text))")
  }

  @Test(arguments: [
    "gmt +9", "GMT+090", "GMT+9:0", "Etc/GMT-15", "Asia/Mumbai", "Europe/Munich", "Tokyo", "Local",
    "null", "unkwn", "-999", "+9x", "12345",
  ])
  func thereIsNoHintWhereNothingIsNear(_ text: String) {
    #expect(!ZoneNames.understands(text))
    #expect(ZoneNames.hint(text).isEmpty, "\(ZoneNames.hint(text))")
  }

  /// Who has an unknown zone is judged by the fallback, and counted.
  @Test func whatNobodyKnowsIsSaid() {
    let rules = RecipientRules(timeZones: Self.zones)
    for (zone, isUnknown) in [("Tokyo Standard Time", true), ("JST", true), ("", false)] {
      let found = verdict(rules, [.quiet: "22:00-07:00", .timeZone: zone])
      #expect(found.isZoneUnknown == isUnknown && found.malformed == 0, "\(zone)")
    }
    #expect(!verdict(rules, [.timeZone: "JST"]).isZoneUnknown)
    #expect(!verdict(rules, [.quiet: "22:00-07:00", .timeZone: "+09:00"]).isZoneUnknown)
  }
}
