import Model
import Rules
import Testing

@Suite struct QuietHoursTests {
  private func read(_ text: String) -> QuietHours? {
    Array(text.utf8).withUnsafeBytes { QuietHours($0) }
  }

  /// First and last minute, and those beside them.
  @Test(arguments: [
    ("22:00-07:00", [1320, 1439, 0, 419], [1319, 420, 720]),
    ("09:30-17:05", [570, 1024], [569, 1025, 0, 1439]),
    ("00:00-23:59", [0, 1438], [1439]), ("23:59-00:00", [1439], [0, 1438]),
    ("08:00-08:00", [], [0, 479, 480, 481, 1439]),
  ])
  func holdFromTheirFirstMinuteToTheirLast(text: String, quiet: [Int], loud: [Int]) throws {
    let hours = try #require(read(text))
    #expect(quiet.allSatisfy { hours.contains(minute: $0) })
    #expect(!loud.contains { hours.contains(minute: $0) })
  }

  @Test(arguments: [
    "x", "22:00", "22-07", "22:00-7:00", "22:00–07:00", "22:00-07:00 ", " 22:00-07:00",
    "24:00-07:00", "22:60-07:00", "22:00-24:00", "2a:00-07:00", "22.00-07.00", "22:00-07:0\u{0}",
    "-1:00-07:00", "22:00+07:00",
  ])
  func whatIsNoneCountsAsNotSetAndIsCounted(text: String) {
    #expect(read(text) == nil)
    let rules = RecipientRules(timeZones: TimeZones([:]))
    let found = verdict(rules, [.quiet: text])
    #expect(found.suppressedBy == nil && found.malformed == 1)
  }

  @Test func whatIsNotSetIsNotCounted() {
    let rules = RecipientRules(timeZones: TimeZones([:]))
    #expect(verdict(rules, [:]) == RuleVerdict())
    #expect(verdict(rules, [.quiet: "", .timeZone: "Nowhere"]) == RuleVerdict())
    #expect(verdict(RecipientRules(), [.quiet: "00:00-23:59"]) == RuleVerdict())
    #expect(verdict(RecipientRules(), [.quiet: "x"]) == RuleVerdict())
    #expect(rules.fields == [.muted, .quiet, .timeZone])
  }

  @Test func aMuteGoesBeforeAnHour() {
    let rules = RecipientRules(mutesStreamers: true, timeZones: TimeZones([:]))
    let all: [RuleField: String] = [.mutedStreamers: "s1", .quiet: "00:00-23:59"]
    #expect(verdict(rules, all).suppressedBy == .muted)
    #expect(verdict(rules, streamer: "s2", all).suppressedBy == .quiet)
    #expect(verdict(rules, [.muted: "1", .quiet: "x"]).malformed == 0)
  }

  @Test func theZoneIsTheProfilesOrElseTheFallback() {
    let east = ZoneClock.fixed(secondsEast: 9 * 3600)
    let zones = TimeZones(["Asia/Tokyo": east, "UTC": .utc], fallback: .utc)
    let rules = RecipientRules(timeZones: zones)
    let quiet = "22:00-07:00"
    let afternoon = milliseconds("2026-06-01T14:00:00Z")
    func found(_ zone: String?) -> SuppressionRule? {
      var texts: [RuleField: String] = [.quiet: quiet]
      texts[.timeZone] = zone
      return verdict(rules, at: afternoon, texts).suppressedBy
    }
    #expect(found("Asia/Tokyo") == .quiet && found("UTC") == nil)
    for zone in [nil, "", "Asia", "Asia/Toky", "Asia/Tokyoo", "\u{0}", "ZZ", "A"] {
      #expect(found(zone) == nil, "\(zone ?? "none")")
    }
    let eastern = RecipientRules(timeZones: TimeZones(["UTC": .utc], fallback: east))
    #expect(
      verdict(eastern, at: afternoon, [.quiet: quiet, .timeZone: "Nowhere"]).suppressedBy == .quiet)
  }

  @Test func everyNameIsFoundAmongMany() {
    let clocks = Dictionary(
      uniqueKeysWithValues: (0..<600).map {
        ("Zone/\($0)", ZoneClock.fixed(secondsEast: $0 * 60))
      })
    let zones = TimeZones(clocks)
    for number in 0..<600 {
      let minute = Array("Zone/\(number)".utf8).withUnsafeBytes { zones[$0].minuteOfDay(at: 0) }
      #expect(minute == number)
    }
  }

  @Test func minutesBeforeNineteenSeventyAreMinutes() {
    #expect(ZoneClock.utc.minuteOfDay(at: -1) == 1439)
    #expect(ZoneClock.fixed(secondsEast: -3600).minuteOfDay(at: 0) == 23 * 60)
  }
}
