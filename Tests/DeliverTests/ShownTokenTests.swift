import Testing

@testable import Deliver

@Suite struct ShownTokenTests {
  private static let minute: UInt64 = 60_000_000_000
  private static let key = ProviderKey(keyID: "KEYKEYKEY1", teamID: "TEAMTEAM01") { $0 }

  private func token(_ text: String, _ key: ProviderKey = key) -> ProviderToken {
    ProviderToken(authorization: text, issuedAt: 0, key: key)
  }

  @Test func aConnectionThatHasShownNothingMayShowAny() {
    #expect(ShownToken().mayShow(token("a"), at: 0))
  }

  @Test func anotherOneMayBeShownAfterTwentyMinutes() {
    var shown = ShownToken()
    let first = token("a")
    shown.show(first, at: Self.minute)
    shown.show(first, at: 15 * Self.minute)
    #expect(shown.mayShow(first, at: Self.minute))
    #expect(!shown.mayShow(token("b"), at: 21 * Self.minute - 1))
    #expect(shown.mayShow(token("b"), at: 21 * Self.minute))
    // From then on it counts from the second.
    shown.show(token("b"), at: 21 * Self.minute)
    #expect(!shown.mayShow(token("c"), at: 41 * Self.minute - 1))
    #expect(shown.mayShow(token("c"), at: 41 * Self.minute))
  }

  @Test func theSameBytesAreTheSameToken() {
    var shown = ShownToken()
    shown.show(token("a"), at: 0)
    #expect(shown.mayShow(token("a"), at: 1))
    shown.show(token("a"), at: 19 * Self.minute)
    #expect(shown.mayShow(token("b"), at: 20 * Self.minute))
  }

  @Test func aTokenOfAnotherKeyIsNeverShown() {
    var shown = ShownToken()
    shown.show(token("a"), at: 0)
    let other = ProviderKey(keyID: "KEYKEYKEY1", teamID: "TEAMTEAM01") { $0 }
    #expect(!shown.mayShow(token("b", other), at: 100 * Self.minute))
    #expect(!shown.mayShow(token("a", other), at: 100 * Self.minute))
  }
}
