import Testing

@testable import Rules

/// The text behind a file's last change.
@Suite struct ZoneRuleTests {
  private func changes(_ text: String, _ year: Int) throws -> [Int64] {
    let rule = try #require(ZoneRule(Array(text.utf8)))
    let since = milliseconds("\(year)-06-01T00:00:00Z") / 1000
    // From the year before on.
    return rule.changes(from: since, years: 1).filter {
      (milliseconds("\(year)-01-01T00:00:00Z")..<milliseconds("\(year + 1)-01-01T00:00:00Z"))
        .contains($0.at * 1000)
    }.map(\.at)
  }

  private func seconds(_ text: String) -> Int64 { milliseconds(text) / 1000 }

  @Test(arguments: [
    ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z"),
    ("EST5EDT,M3.2.0,M11.1.0", "2026-03-08T07:00:00Z", "2026-11-01T06:00:00Z"),
    ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z"),
    ("EET-2EEST,M3.4.4/50,M10.4.4/50", "2026-03-28T00:00:00Z", "2026-10-23T23:00:00Z"),
    ("AAA0BBB-1:30:15,J60/0,J100/0", "2026-03-01T00:00:00Z", "2026-04-09T22:29:45Z"),
    ("AAA0BBB,59/0,100/+1", "2026-03-01T00:00:00Z", "2026-04-11T00:00:00Z"),
  ])
  func saysWhenClocksAreChanged(text: String, first: String, second: String) throws {
    #expect(try changes(text, 2026) == [seconds(first), seconds(second)])
  }

  /// Day 60 is 1 March in every year for one way of counting, 29 February for the other.
  @Test func leapYearsHaveADayMore() throws {
    #expect(try changes("AAA0BBB,J60/0,J100/0", 2028).first == seconds("2028-03-01T00:00:00Z"))
    #expect(try changes("AAA0BBB,J59/0,J100/0", 2028).first == seconds("2028-02-28T00:00:00Z"))
    #expect(try changes("AAA0BBB,59/0,100/0", 2028).first == seconds("2028-02-29T00:00:00Z"))
  }

  @Test func offsetsCountEastwards() throws {
    #expect(ZoneRule(Array("<+0545>-5:45".utf8))?.standard == 20_700)
    #expect(ZoneRule(Array("HST10".utf8))?.standard == -36_000)
    #expect(ZoneRule(Array("HST10".utf8))?.summer == nil)
  }

  @Test(arguments: [
    "", "A", "AB1", "<>1", "<+01", "CET", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M3.5.0,",
    "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0",
    "CET-1CEST,J0,J5", "CET-1CEST,J366,J5", "CET-1CEST,366,5", "CET-168", "CET-1:60",
    "CET-1CEST,M3.5.0,M10.5.0/3x", "CET-1CEST,M0.5.0,M10.5.0", "CET-1CEST,M3.0.0,M10.5.0",
    "CET-99999",
  ])
  func whatIsNoRuleIsNone(text: String) {
    #expect(ZoneRule(Array(text.utf8)) == nil)
  }
}
