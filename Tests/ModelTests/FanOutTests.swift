import Testing

@testable import Model

/// What is known of a fan-out's pushes in a lane.
@Suite struct FanOutTests {
  private let fanOut = FanOut()

  @Test func oneThatWasTakenIsWelcomeUntilManyAreRefused() {
    #expect(!fanOut.isWelcome)
    fanOut.failed()
    #expect(!fanOut.isWelcome)
    fanOut.taken()
    for _ in 0..<15 { fanOut.failed() }
    #expect(fanOut.isWelcome)
    fanOut.failed()
    #expect(!fanOut.isWelcome)
    fanOut.taken()
    #expect(fanOut.isWelcome)
  }
}
