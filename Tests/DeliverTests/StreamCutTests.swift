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
        cut.rejected(at: time)
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
    #expect(cut(limits, errorsAt: errors).isCut == isCut)
  }

  /// Only what was sent before the limit fell.
  @Test func whatWasOnItsWayIsWhatWasSentBefore() {
    #expect(!cut([1, 1000], errorsAt: []).wasOnItsWay(sentAt: 1))
    let cut = cut([1000, 500, 1000], errorsAt: [])
    #expect(cut.wasOnItsWay(sentAt: 1) && cut.wasOnItsWay(sentAt: 2 * Self.second))
    #expect(!cut.wasOnItsWay(sentAt: 2 * Self.second + 1))
  }
}
