import Testing

@testable import Model

/// What a lane may send of an app or an event that has a limit.
@Suite struct PushLimitTests {
  private let app = PushLimit(.app("a.b"), rate: 100)
  private let event = PushLimit(.event("e1"), rate: 10)

  @Test func aFanOutMaySendWhatAllItsLimitsLetGo() {
    let fanOut = FanOut(limits: [app, event])
    #expect(FanOut().allowance == .max && fanOut.allowance == 0)
    app.grant(8)
    #expect(fanOut.allowance == 0)
    event.grant(3)
    #expect(fanOut.allowance == 3)
    fanOut.sent(3)
    #expect(fanOut.allowance == 0)
    #expect(app.tokens == 5 && event.tokens == 0)
  }

  /// A suspect goes when it must; the next lease pays for it.
  @Test func whatWentBeyondIsPaidBack() {
    let fanOut = FanOut(limits: [event])
    fanOut.sent(2)
    #expect(event.tokens == -2 && fanOut.allowance == 0)
    event.grant(3)
    #expect(fanOut.allowance == 1)
  }

  @Test func itIsShortWhenPushesWaitForMoreThanTheirFirstTokens() {
    let fanOut = FanOut(limits: [app, event])
    fanOut.lack()
    #expect(app.isWanted && event.isWanted && !fanOut.isShort, "nobody has asked Redis yet")
    app.grant(5)
    event.grant(1)
    fanOut.sent(1)
    fanOut.lack()
    #expect(event.isShort && event.isLacking && !app.isShort && fanOut.isShort)
    event.grant(1)
    #expect(!event.isLacking && event.isShort, "so it was lately")
    event.rest()
    #expect(!fanOut.isShort)
  }

  @Test func whatIsAskedForIsWantedNoMore() {
    event.lack()
    event.ask()
    #expect(!event.isWanted)
    event.take(1)
    #expect(event.isWanted)
    event.ask()
    event.grant(0)
    #expect(event.isWanted, "others had it all")
  }

  /// Debts stay, and who comes next waits for a lease and not for the limit.
  @Test func whatIsNotUsedIsVoid() {
    event.grant(4)
    event.expire()
    #expect(event.tokens == 0)
    event.lack()
    #expect(!event.isShort)
    event.take(2)
    event.expire()
    #expect(event.tokens == -2)
  }
}
