import Testing

@testable import Deliver

/// What a server made of what it rejected on a connection.
@Suite struct StreamCutTests {
  private func cut(_ limits: [Int], _ statuses: [Int]) -> StreamCut {
    var cut = StreamCut()
    for (index, limit) in limits.enumerated() { cut.limited(to: limit, at: UInt64(index + 1)) }
    for status in statuses { cut.answered(status: status) }
    return cut
  }

  /// 410 is not counted, 5xx is no error of ours, and half is where it begins.
  @Test(arguments: [
    ([1000, 500], [400], true), ([1000, 1], [400], true), ([1000, 501], [400], false),
    ([1, 1000], [400], false), ([1], [400], false), ([2, 1], [413], true),
    ([1000, 0], [429], true), ([1000, 1], [], false), ([1000, 1], [200, 410, 503], false),
    ([1000, 1, 1000], [400], false),
  ])
  func streamsAreCutAfterAnError(limits: [Int], statuses: [Int], isCut: Bool) {
    let cut = cut(limits, statuses)
    #expect(cut.isCut == isCut)
    #expect(cut.isPunished(wasSentAway: false) == isCut)
  }

  /// Only what was sent before the limit fell.
  @Test func whatWasOnItsWayIsWhatWasSentBefore() {
    #expect(!cut([1, 1000], []).wasOnItsWay(sentAt: 1))
    let cut = cut([1000, 500, 1000], [])
    #expect(cut.wasOnItsWay(sentAt: 1) && cut.wasOnItsWay(sentAt: 2))
    #expect(!cut.wasOnItsWay(sentAt: 3))
  }

  @Test(arguments: [([400], true), ([410], false), ([], false)])
  func goingAwayIsForErrorsWhereThereWereAny(statuses: [Int], isPunished: Bool) {
    #expect(cut([1000], statuses).isPunished(wasSentAway: true) == isPunished)
  }
}
