import Testing

@testable import Checks

@Suite struct ClockJudgeTests {
  private func found(
    theirs: Int64, asked: Int64, answered: Int64, resolution: Int64 = 1
  ) throws -> CheckItem {
    var list = CheckList(deniesWarnings: false)
    ClockJudge(id: "redis.clock", name: "Redis a:1").judge(
      theirs: theirs, asked: asked, answered: answered, resolution: resolution, &list)
    return try #require(list.items.first)
  }

  @Test func clocksThatAgreeAreWell() throws {
    #expect(try found(theirs: 10_000, asked: 10_000, answered: 10_010).status == .ok)
    #expect(try found(theirs: 11_000, asked: 10_000, answered: 10_000).status == .ok)
  }

  @Test func aDifferenceOfSecondsIsWarnedOfAndOneOfAMinuteIsAProblem() throws {
    let behind = try found(theirs: 13_000, asked: 10_000, answered: 10_000)
    #expect(behind.status == .warning)
    #expect(behind.message.contains("clock is 3s behind that of Redis a:1: at most 1s is well"))
    let ahead = try found(theirs: 10_000, asked: 100_000, answered: 100_000)
    #expect(ahead.status == .problem)
    #expect(ahead.message.contains("1m30s ahead of that of Redis a:1: a worker leaves its group"))
    let far = try found(theirs: 100_000, asked: 10_000, answered: 10_000)
    #expect(far.status == .problem && !far.message.contains("leaves"))
  }

  /// An answer that took long says little.
  @Test func aSlowAnswerLeavesDoubt() throws {
    #expect(try found(theirs: 10_000, asked: 10_000, answered: 18_000).status == .ok)
    let slow = try found(theirs: 10_000, asked: 20_000, answered: 28_000)
    #expect(slow.status == .warning)
  }

  @Test func aDateOfWholeSecondsMayBeOneOff() throws {
    #expect(try found(theirs: 10_000, asked: 11_900, answered: 11_900, resolution: 1_000).isOK)
    #expect(try !found(theirs: 10_000, asked: 12_900, answered: 12_900, resolution: 1_000).isOK)
  }

  @Test func datesOfHTTPAreRead() {
    #expect(HTTPDate.milliseconds("Sun, 06 Nov 1994 08:49:37 GMT") == 784_111_777_000)
    #expect(HTTPDate.milliseconds("Thu, 01 Jan 1970 00:00:00 GMT") == 0)
    #expect(HTTPDate.milliseconds("Tue, 29 Feb 2028 23:59:59 GMT") == 1_835_481_599_000)
    #expect(HTTPDate.milliseconds("Sat, 28 Nov 2026 10:00:00 GMT") == 1_795_860_000_000)
    for wrong in [
      "", "now", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
      "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Foo 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 99999999999999999999 Nov 1994 08:49:37 GMT",
    ] {
      #expect(HTTPDate.milliseconds(wrong) == nil, "\(wrong)")
    }
  }

  @Test func anAnswerWithoutADateSaysNothing() {
    var list = CheckList(deniesWarnings: false)
    let judge = ClockJudge(id: "apns.clock", name: "a:443")
    judge.judge(date: nil, asked: 0, answered: 0, &list)
    judge.judge(date: "later", asked: 0, answered: 0, &list)
    #expect(list.items.isEmpty)
    judge.judge(date: "Thu, 01 Jan 1970 00:00:00 GMT", asked: 0, answered: 0, &list)
    #expect(list.items.map(\.status) == [.ok])
  }
}

extension CheckItem {
  fileprivate var isOK: Bool { status == .ok }
}
