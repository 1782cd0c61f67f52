import Testing

@testable import Model

/// What is known of a fan-out's pushes in a lane.
@Suite struct FanOutTests {
  private let fanOut = FanOut()

  @Test func whatIsTakenEarnsAndWhatIsRefusedCosts() {
    #expect(fanOut.credit == 0)
    fanOut.taken(earns: true)
    fanOut.taken(earns: true)
    #expect(fanOut.credit == 4)
    fanOut.failed()
    #expect(fanOut.credit == 3)
    fanOut.sent(2, at: 1)
    #expect(fanOut.credit == 1)
    fanOut.sent(2, at: 1)
    fanOut.failed()
    #expect(fanOut.credit == 0)
    for _ in 0..<1_000 { fanOut.taken(earns: true) }
    #expect(fanOut.credit == 256)
    fanOut.taken(earns: false)
    #expect(fanOut.credit == 0)
  }

  /// A server that takes half of what it is sent is sent no more ahead of others for it.
  @Test func halfOfItIsNotEnoughToGoOn() {
    fanOut.taken(earns: true)
    var sent = 0
    while fanOut.credit > 0, sent < 1_000 {
      fanOut.sent(1, at: 1)
      if sent % 2 == 0 { fanOut.failed() } else { fanOut.taken(earns: true) }
      sent += 1
    }
    #expect(sent < 10)
  }

  @Test func oneThatWasTakenIsWelcomeUntilManyAreRefused() {
    #expect(!fanOut.isWelcome)
    fanOut.failed()
    #expect(!fanOut.isWelcome)
    fanOut.taken(earns: false)
    for _ in 0..<15 { fanOut.failed() }
    #expect(fanOut.isWelcome)
    fanOut.failed()
    #expect(!fanOut.isWelcome)
    fanOut.taken(earns: false)
    #expect(fanOut.isWelcome)
  }
}
