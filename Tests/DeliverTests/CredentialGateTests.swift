import Testing

@testable import Deliver

@Suite struct CredentialGateTests {
  private let hold: UInt64 = 15_000_000_000

  @Test func anUnusedGateIsOpenAndRemembersNothing() {
    let gate = Gate()
    #expect(gate.isOpen && !gate.isWatching && !gate.isRefused)
    #expect(gate.allows(at: 0, hasUntried: false))
    let opened = gate.taken()
    #expect(!opened)
  }

  @Test func oneRefusalAsksOthersAtOnceAFewAtATime() {
    let gate = Gate()
    #expect(gate.refused(refusals: 1, at: 0, hold: hold) == nil)
    #expect(!gate.isOpen && !gate.isRefused)
    for _ in 0..<4 {
      #expect(gate.allows(at: 0, hasUntried: true))
      gate.checkSent()
    }
    #expect(!gate.allows(at: 0, hasUntried: true))
    gate.checkReturned()
    #expect(gate.taken())
    #expect(gate.isOpen && gate.allows(at: 0, hasUntried: false))
  }

  @Test func aDoubtCountsAsClosedOnceNobodyHasAnsweredForTheLimit() {
    var gate = CredentialGate()
    let (second, limit): (UInt64, UInt64) = (1_000_000_000, 3_000_000_000)
    _ = gate.refused(refusals: 1, sentAt: 9 * second, at: 10 * second, hold: hold)
    #expect(!gate.isClosed(at: 10 * second, after: limit))
    #expect(!gate.isClosed(at: 13 * second - 1, after: limit))
    #expect(gate.isClosed(at: 13 * second, after: limit))
    _ = gate.taken(sentAt: 11 * second)
    #expect(!gate.isClosed(at: 14 * second, after: limit))
  }

  @Test func aPushRefusedTwiceWhileOthersAreTakenWaitsAlone() {
    let gate = Gate()
    #expect(gate.refused(refusals: 1, at: 0, hold: hold) == nil)
    _ = gate.taken()
    for refusals in 2..<40 {
      #expect(gate.refused(refusals: refusals, at: 1, hold: hold) == nil)
      #expect(gate.isOpen)
    }
  }

  @Test func whatWasSentBeforeTheFirstRefusalSaysNothing() {
    let gate = Gate()
    #expect(gate.refused(refusals: 1, at: 10, hold: hold) == nil)
    #expect(!gate.taken(sentAt: 9) && !gate.isOpen)
    for _ in 0..<50 {
      #expect(gate.refused(refusals: 1, sentAt: 9, at: 11, hold: hold) == nil)
    }
    #expect(!gate.isRefused)
    // With the first refusal these are four that count.
    for _ in 0..<2 {
      #expect(gate.refused(refusals: 1, sentAt: 10, at: 12, hold: hold) == nil)
    }
    #expect(gate.refused(refusals: 1, sentAt: 10, at: 13, hold: hold) == 13 + hold)
    #expect(!gate.taken(sentAt: 9) && gate.isRefused)
    // A push that asked before the hold was over says as much as one that asks behind it.
    #expect(gate.allows(at: 13 + hold, hasUntried: true))
    #expect(gate.taken(sentAt: 11) && gate.isOpen)
  }

  @Test func aPushRefusedTwiceIsNotRejectedWhenNobodyIsTaken() {
    let gate = Gate()
    #expect(gate.refused(refusals: 2, at: 0, hold: hold) == nil)
    #expect(gate.refused(refusals: 3, at: 0, hold: hold) == hold)
    #expect(gate.isRefused)
  }

  @Test func refusedProbesHoldAndAskAgainAfterwards() {
    let gate = Gate()
    for _ in 0..<3 { #expect(gate.refused(refusals: 1, at: 0, hold: hold) == nil) }
    #expect(gate.refused(refusals: 1, at: 7, hold: hold) == 7 + hold)
    #expect(gate.opensAt == 7 + hold)
    // What comes late changes nothing.
    #expect(gate.refused(refusals: 1, at: 9, hold: hold) == 7 + hold)
    #expect(!gate.allows(at: 6 + hold, hasUntried: false))
    for _ in 0..<4 {
      #expect(gate.allows(at: 7 + hold, hasUntried: true))
      gate.checkSent()
    }
    #expect(!gate.allows(at: 7 + hold, hasUntried: true))
    #expect(gate.isRefused)
    for _ in 0..<3 {
      gate.checkReturned()
      #expect(gate.refused(refusals: 1, at: 8 + hold, hold: hold) == nil)
    }
    gate.checkReturned()
    #expect(gate.refused(refusals: 1, at: 8 + hold, hold: hold) == 8 + 2 * hold)
    #expect(gate.taken())
    #expect(gate.isOpen && !gate.isRefused)
    // Those before count no more.
    let later = 60_000_000_000 + hold
    for _ in 0..<3 { #expect(gate.refused(refusals: 1, at: later, hold: hold) == nil) }
    #expect(gate.refused(refusals: 1, at: later, hold: hold) == later + hold)
  }

  @Test func oneTokensRefusalsKeepNoOtherTokenWaiting() {
    let gate = Gate()
    #expect(gate.refused(refusals: 1, at: 0, hold: hold) == nil)
    #expect(gate.refused(refusals: 2, at: 1, hold: hold) == 1 + hold)
    #expect(!gate.allows(at: 2, hasUntried: false))
    #expect(gate.allows(at: 2, hasUntried: true))
    // A second token is refused too: now it is not about a token.
    #expect(gate.refused(refusals: 1, at: 3, hold: hold) == 1 + hold)
    #expect(!gate.allows(at: 4, hasUntried: true))
  }

  /// They were in flight together: it is not about one token, so no other goes past the pause.
  @Test func tokensRefusedTogetherAreSeveral() {
    let gate = Gate()
    let pause = Evidence.askAgainAfter
    #expect(gate.refused(refusals: 1, at: 10, hold: hold) == nil)
    #expect(gate.refused(refusals: 1, sentAt: 9, at: 11, hold: hold) == nil)
    #expect(gate.refused(refusals: 2, at: 12, hold: hold) == 12 + hold)
    #expect(!gate.allows(at: pause - 1, hasUntried: true))
    #expect(gate.allows(at: pause, hasUntried: true))
  }

  @Test func aPushThatWasNeverRefusedAsksNowAndThenDuringAHold() {
    let gate = Gate()
    let pause = Evidence.askAgainAfter
    for _ in 0..<4 { _ = gate.refused(refusals: 1, at: 0, hold: hold) }
    #expect(gate.isRefused)
    #expect(!gate.allows(at: pause - 1, hasUntried: true))
    #expect(!gate.allows(at: pause, hasUntried: false))
    #expect(gate.allows(at: pause, hasUntried: true))
    gate.checkSent(at: pause)
    #expect(!gate.allows(at: 2 * pause - 1, hasUntried: true))
    gate.checkReturned()
    #expect(gate.refused(refusals: 1, at: pause + 1, hold: hold) == hold)
    #expect(gate.allows(at: 2 * pause, hasUntried: true))
    gate.checkSent(at: 2 * pause)
    #expect(gate.taken() && gate.isOpen)
  }
}

/// The machine behind a reference, since an expectation calls nothing that changes a value.
private final class Gate {
  private var machine = CredentialGate()

  var isOpen: Bool { machine.isOpen }
  var isWatching: Bool { machine.isWatching }
  var isRefused: Bool { machine.isRefused }
  var opensAt: UInt64? { machine.opensAt }

  func allows(at now: UInt64, hasUntried: Bool) -> Bool {
    machine.allows(at: now, hasUntried: hasUntried)
  }
  func checkSent(at now: UInt64 = 0) { machine.checkSent(at: now) }
  func checkReturned() { machine.checkReturned() }
  func taken(sentAt: UInt64 = .max) -> Bool { machine.taken(sentAt: sentAt) }
  func refused(
    refusals: Int, sentAt: UInt64 = .max, at now: UInt64, hold: UInt64
  ) -> UInt64? {
    machine.refused(refusals: refusals, sentAt: sentAt, at: now, hold: hold)
  }
}
