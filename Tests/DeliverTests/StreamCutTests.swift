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
        _ = cut.rejected(answers: 100, at: time)
      } else {
        _ = cut.limited(to: limit, at: time)
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
    #expect(cut.isCut == isCut && cut.isPunished == isCut)
  }

  /// It is told each time that more is taken, and of nothing else.
  @Test func itSaysWhenTheConnectionPays() {
    let limits = [300, -1, 150, 150, -1, 75, 300]
    #expect(payments(limits) == [false, false, true, false, false, true, false])
    // The answer comes behind.
    #expect(payments([300, 150, -1, -1]) == [false, false, true, false])
  }

  /// Whether each was to make a connection pay: limits, and -1 for a rejected token.
  private func payments(_ limits: [Int]) -> [Bool] {
    var cut = StreamCut()
    return limits.map { limit in
      limit < 0 ? cut.rejected(answers: 10, at: 2) : cut.limited(to: limit, at: 2)
    }
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
    errors: Int, answers: Int, later: UInt64, isPunished: Bool
  ) {
    var cut = StreamCut()
    for number in 0..<errors { _ = cut.rejected(answers: number + 1, at: Self.second) }
    let isTold = cut.wentAway(answers: answers, at: (1 + later) * Self.second)
    #expect(isTold == isPunished)
    #expect(cut.isPunished == isPunished && !cut.isCut)
  }

  /// Two of a while ago and one of now are not three.
  @Test func errorsOfAnotherTimeAreNotAddedToThoseOfNow() {
    for (pause, isPunished) in [(10, true), (11, false)] as [(UInt64, Bool)] {
      var cut = StreamCut()
      for time in [1, 1, 1 + pause] { _ = cut.rejected(answers: 1, at: time * Self.second) }
      #expect(cut.wentAway(answers: 1, at: (2 + pause) * Self.second) == isPunished)
    }
  }

  /// Of a connection that was well for days those of the last seconds count.
  @Test func whatWasBeforeTheErrorsDoesNotCount() {
    var cut = StreamCut()
    _ = cut.rejected(answers: 1, at: Self.second)
    for number in 0..<3 {
      _ = cut.rejected(answers: 1_000_000 + 20 * number, at: 100 * Self.second)
    }
    let isTold = cut.wentAway(answers: 1_000_100, at: 100 * Self.second)
    #expect(isTold)
  }
}
