import Testing

@testable import Deliver

@Suite struct LossWindowTests {
  private func answer(_ window: inout LossWindow, _ count: Int) {
    for _ in 0..<count { window.answered() }
  }

  @Test func anUnknownServerIsTrustedMoreWithEachRoundOfAnswers() {
    var window = LossWindow()
    #expect(window.limit == LossWindow.initial)
    answer(&window, LossWindow.initial)
    #expect(window.limit == 2 * LossWindow.initial)
    #expect(!window.isCareful(streams: 500))
  }

  @Test func aRareLossChangesNothing() {
    var window = LossWindow()
    answer(&window, 1_000_000)
    window.lost(openedAt: 0, at: 1)
    #expect(window.limit > 10_000 && !window.isCareful(streams: 500))
  }

  @Test func lossesThatComeOftenLetLittleBeInFlight() {
    var window = LossWindow()
    var limits: [Int] = []
    for round in 1...4 {
      answer(&window, 400)
      window.lost(openedAt: UInt64(round), at: UInt64(round))
      limits.append(window.limit)
    }
    #expect(limits == [20, 20, 20, 20] && window.isCareful(streams: 500))
    answer(&window, 20)
    window.lost(openedAt: 5, at: 5)
    #expect(window.limit == LossWindow.floor)
    // Without another loss it grows until it bounds nothing.
    answer(&window, 10_000)
    #expect(window.limit == 500 && !window.isCareful(streams: 500))
  }

  @Test func aLossOfLongAgoSaysNothing() {
    var window = LossWindow()
    answer(&window, 100)
    window.lost(openedAt: 0, at: 1_000_000_000)
    window.forget(at: 60_999_999_999)
    #expect(window.limit == LossWindow.floor)
    window.forget(at: 61_000_000_000)
    #expect(window.limit == LossWindow.initial && !window.isCareful(streams: 500))
  }

  /// A server that restarts closes all its connections at once.
  @Test func connectionsLostTogetherAreOneLoss() {
    var window = LossWindow()
    answer(&window, 1_000_000)
    window.lost(openedAt: 1, at: 10)
    window.lost(openedAt: 1, at: 10)
    answer(&window, 15)
    window.lost(openedAt: 2, at: 11)
    #expect(!window.isCareful(streams: 500))
    // One that was opened since was lost for another reason.
    window.lost(openedAt: 10, at: 12)
    #expect(window.limit == LossWindow.floor)
  }
}
