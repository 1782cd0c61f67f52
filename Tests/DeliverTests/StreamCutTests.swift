import Testing

@testable import Deliver

/// What a server made of the tokens that it rejected on a connection.
@Suite struct StreamCutTests {
  private static let second: UInt64 = 1_000_000_000

  /// A connection with limits that fell a second from each other, and rejected tokens.
  private func cut(_ limits: [Int], errorsAt times: [UInt64]) -> StreamCut {
    var cut = StreamCut()
    let lowered = limits.enumerated().map { (time: UInt64($0 + 1) * Self.second, limit: $1) }
    for (time, limit) in (lowered + times.map { ($0 * Self.second, -1) }).sorted(by: <) {
      if limit < 0 {
        cut.rejected(answers: 100, at: time)
      } else {
        cut.limited(to: limit, at: time)
      }
    }
    return cut
  }

  /// Half is where it begins, after an error or with its answer right behind; an error of another
  /// time is none of a limit's.
  @Test(arguments: [
    ([1000, 500], [1], true), ([1000, 500], [3], true), ([1000, 1], [1], true),
    ([1000, 501], [1], false), ([1, 1000], [1], false), ([1], [1], false), ([2, 1], [1], true),
    ([1000, 0], [1], true), ([1000, 1], [], false), ([1000, 1, 1000], [1], false),
    ([1000, 1], [12], true), ([1000, 1], [13], false), ([1000, 1], [1, 40], true),
  ])
  func streamsAreCutForErrors(limits: [Int], errors: [UInt64], isCut: Bool) {
    let cut = cut(limits, errorsAt: errors)
    #expect(cut.isCut == isCut && cut.hadTooManyErrors == isCut)
  }

  /// Only what was sent before the limit fell.
  @Test func whatWasOnItsWayIsWhatWasSentBefore() {
    #expect(!cut([1, 1000], errorsAt: []).wasOnItsWay(sentAt: 1))
    let cut = cut([1000, 500, 1000], errorsAt: [])
    #expect(cut.wasOnItsWay(sentAt: 1) && cut.wasOnItsWay(sentAt: 2 * Self.second))
    #expect(!cut.wasOnItsWay(sentAt: 2 * Self.second + 1))
  }

  /// Servers go away for many reasons: a refused token or two, one in a thousand, or those of some
  /// time ago are none.
  @Test(arguments: [
    (3, 3, 0, true), (2, 2, 0, false), (0, 1000, 0, false), (3, 300, 0, true),
    (3, 301, 0, false), (100, 1000, 10, true), (100, 1000, 11, false),
  ])
  func goingAwayIsForErrorsWhereThereWereMany(
    errors: Int, answers: Int, later: UInt64, hadTooManyErrors: Bool
  ) {
    var cut = StreamCut()
    for number in 0..<errors { cut.rejected(answers: number + 1, at: Self.second) }
    cut.wentAway(answers: answers, at: (1 + later) * Self.second)
    #expect(cut.hadTooManyErrors == hadTooManyErrors && !cut.isCut)
  }

  /// Two of a while ago and one of now are not three.
  @Test func errorsOfAnotherTimeAreNotAddedToThoseOfNow() {
    for (pause, hadTooManyErrors) in [(10, true), (11, false)] as [(UInt64, Bool)] {
      var cut = StreamCut()
      for time in [1, 1, 1 + pause] { cut.rejected(answers: 1, at: time * Self.second) }
      cut.wentAway(answers: 1, at: (2 + pause) * Self.second)
      #expect(cut.hadTooManyErrors == hadTooManyErrors)
    }
  }

  /// Of a connection that was well for days those of the last seconds count.
  @Test func whatWasBeforeTheErrorsDoesNotCount() {
    var cut = StreamCut()
    cut.rejected(answers: 1, at: Self.second)
    for number in 0..<3 {
      cut.rejected(answers: 1_000_000 + 20 * number, at: 100 * Self.second)
    }
    cut.wentAway(answers: 1_000_100, at: 100 * Self.second)
    #expect(cut.hadTooManyErrors)
  }
}
