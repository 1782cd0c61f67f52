import Testing

@testable import Legacy

/// Each event of a connection, in each state.
@Suite struct SentWindowTests {
  private static let acceptedAfter: UInt64 = 100

  private func window(_ items: ClosedRange<Int>? = 1...5, capacity: Int = 8) -> SentWindow<Int> {
    var window = SentWindow<Int>(capacity: capacity, acceptedAfter: Self.acceptedAfter)
    if let items { for item in items { window.sent(item) } }
    return window
  }

  private func closed() -> SentWindow<Int> {
    var window = window()
    _ = window.ended()
    return window
  }

  @Test func numbersWhatIsSentAndTakesNoMoreThanItsCapacity() {
    var window = window(nil, capacity: 2)
    #expect(window.next == 1 && window.room == 2 && !window.isUsedUp)
    window.sent(10)
    window.sent(11)
    #expect(window.next == 3 && window.room == 0 && window.count == 2)
    window.sent(12)
    #expect(window.waiting == [10, 11])
  }

  @Test func takesSilenceForAssentOnlyAfterTheBytesHaveArrived() {
    var window = window(1...2)
    #expect(window.hasUndelivered)
    #expect(window.silence(at: 1_000_000).isEmpty)
    window.delivered(at: 50)
    window.sent(3)
    #expect(window.hasUndelivered)
    #expect(window.silence(at: 149).isEmpty)
    #expect(window.silence(at: 150) == [1, 2])
    #expect(window.waiting == [3] && window.next == 4)
    window.delivered(at: 160)
    // What has arrived before does not wait again.
    window.delivered(at: 200)
    #expect(!window.hasUndelivered)
    #expect(window.silence(at: 259).isEmpty)
    // A clock that is a little behind settles nothing.
    #expect(window.silence(at: 10).isEmpty)
    #expect(window.silence(at: 260) == [3])
    #expect(window.count == 0 && window.room == 8)
  }

  /// As while more is sent than is acknowledged, all the time.
  @Test func onlyWhatHasArrivedWaitsForAWord() {
    var window = window()
    window.delivered(before: 3, at: 10)
    #expect(window.hasUndelivered)
    window.delivered(before: 2, at: 90)
    #expect(window.silence(at: 110) == [1, 2])
    window.delivered(before: 1, at: 200)
    #expect(window.silence(at: 1000).isEmpty)
    window.delivered(before: .max, at: 300)
    #expect(!window.hasUndelivered && window.silence(at: 400) == [3, 4, 5])
  }

  @Test func sendsAgainInOrderWhatStandsBehindTheRefused() {
    var window = window()
    let verdict = window.refused(3, .invalidToken)
    #expect(verdict.accepted == [1, 2] && verdict.refused == 3 && verdict.again == [4, 5])
    #expect(verdict.unknown.isEmpty && verdict.late == 0)
    #expect(window.phase == .closed && window.count == 0 && window.room == 0)
  }

  @Test(arguments: [(1, [], [2, 3, 4, 5]), (5, [1, 2, 3, 4], [])] as [(UInt32, [Int], [Int])])
  func judgesTheFirstAndTheLast(identifier: UInt32, accepted: [Int], again: [Int]) {
    var window = window()
    let verdict = window.refused(identifier, LegacyStatus(7))
    #expect(verdict.accepted == accepted && verdict.refused == Int(identifier))
    #expect(verdict.again == again)
  }

  @Test(arguments: [0, 10] as [UInt8]) func takesTheOneThatAShutdownNames(code: UInt8) {
    var window = window()
    let verdict = window.refused(3, LegacyStatus(code))
    #expect(verdict.accepted == [1, 2, 3] && verdict.refused == nil && verdict.again == [4, 5])
  }

  @Test func knowsIdentifiersAfterSomeWereSettled() {
    var window = window()
    window.delivered(at: 0)
    #expect(window.silence(at: 100) == [1, 2, 3, 4, 5])
    for item in 6...9 { window.sent(item) }
    let verdict = window.refused(8, .invalidToken)
    #expect(verdict.accepted == [6, 7] && verdict.refused == 8 && verdict.again == [9])
  }

  @Test func tellsWhatWasTakenForAcceptedTooSoon() {
    var window = window()
    window.delivered(at: 0)
    _ = window.silence(at: 100)
    window.sent(6)
    let verdict = window.refused(3, .invalidToken)
    // 4 and 5 went with the refused one, which was not taken either.
    #expect(verdict.late == 3 && verdict.again == [6] && verdict.refused == nil)
    #expect(verdict.accepted.isEmpty && verdict.unknown.isEmpty && verdict.isKnown)
  }

  @Test func oneThatAShutdownNamesLateWasTaken() {
    var window = window()
    window.delivered(at: 0)
    _ = window.silence(at: 100)
    #expect(window.refused(3, .shutdown).late == 2)
  }

  @Test func tellsARefusalOfTheLastThatWasTakenForAcceptedTooSoon() {
    var window = window(1...1)
    window.delivered(at: 0)
    _ = window.silence(at: 100)
    #expect(window.refused(1, .invalidToken).late == 1)
  }

  /// The highest identifier is not used, so that `next` is always a number.
  @Test func sendsNoMoreWhenIdentifiersAreUsedUp() {
    var window = SentWindow<Int>(
      capacity: 8, acceptedAfter: Self.acceptedAfter, firstIdentifier: .max - 2)
    #expect(window.room == 2 && !window.isUsedUp)
    for item in 1...3 { window.sent(item) }
    #expect(window.waiting == [1, 2] && window.isUsedUp && window.room == 0)
    window.delivered(at: 0)
    #expect(window.silence(at: 100) == [1, 2] && window.isUsedUp && window.room == 0)
    #expect(window.refused(.max - 2, .shutdown).late == 1)
  }

  @Test(arguments: [0, 6, .max] as [UInt32])
  func knowsNothingWhenTheResponseNamesNothingThatWasSent(identifier: UInt32) {
    var window = window()
    let verdict = window.refused(identifier, .shutdown)
    #expect(verdict.unknown == [1, 2, 3, 4, 5] && verdict.accepted.isEmpty)
    #expect(verdict.again.isEmpty && verdict.refused == nil && verdict.late == 0)
    #expect(!verdict.isKnown)
  }

  @Test func leavesOpenWhatWasSentWhenTheConnectionEndsWithoutAWord() {
    var window = window()
    window.delivered(at: 0)
    #expect(window.ended() == [1, 2, 3, 4, 5])
    #expect(window.phase == .closed && window.count == 0)
  }

  @Test func nothingHappensOnceItIsClosed() {
    var sent = closed()
    sent.sent(9)
    #expect(sent.count == 0 && sent.room == 0)
    var delivered = closed()
    delivered.delivered(at: 5)
    #expect(!delivered.hasUndelivered)
    var silent = closed()
    #expect(silent.silence(at: .max).isEmpty)
    var refused = closed()
    let verdict = refused.refused(2, .invalidToken)
    #expect(verdict.accepted.isEmpty && verdict.refused == nil && verdict.again.isEmpty)
    #expect(verdict.unknown.isEmpty && verdict.late == 0)
    var ended = closed()
    #expect(ended.ended().isEmpty)
    #expect([sent, delivered, silent, refused, ended].allSatisfy { $0.phase == .closed })
  }
}

extension SentWindow {
  /// What waits for a word, in order.
  fileprivate var waiting: [Item] {
    var copy = self
    return copy.ended()
  }

  fileprivate mutating func delivered(at now: UInt64) { delivered(before: next, at: now) }
}
