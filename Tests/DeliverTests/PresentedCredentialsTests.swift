import Testing

@testable import APNs
@testable import Deliver

@Suite struct PresentedCredentialsTests {
  private static let minute: UInt64 = 60_000_000_000
  private static let key = ProviderKey(keyID: "KEYKEYKEY1", teamID: "TEAMTEAM01") { $0 }

  private func token(_ text: String, _ key: ProviderKey = key) -> ProviderToken {
    ProviderToken(authorization: text, issuedAt: 0, key: key)
  }

  private func shown() -> PresentedCredentials {
    PresentedCredentials(
      .key(ProviderTokenSource(key: Self.key, lifetime: .seconds(3000), monotonic: { 0 })))
  }

  @Test func aConnectionThatHasShownNothingMayShowAny() {
    #expect(shown().mayShow(token("a"), at: 0))
  }

  @Test func anotherOneMayBeShownAfterTwentyMinutes() {
    var shown = shown()
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
    var shown = shown()
    shown.show(token("a"), at: 0)
    #expect(shown.mayShow(token("a"), at: 1))
    shown.show(token("a"), at: 19 * Self.minute)
    #expect(shown.mayShow(token("b"), at: 20 * Self.minute))
  }

  @Test func aTokenOfAnotherKeyIsNeverShown() {
    var shown = shown()
    shown.show(token("a"), at: 0)
    let other = ProviderKey(keyID: "KEYKEYKEY1", teamID: "TEAMTEAM01") { $0 }
    #expect(!shown.mayShow(token("b", other), at: 100 * Self.minute))
    #expect(!shown.mayShow(token("a", other), at: 100 * Self.minute))
  }

  /// It is shown when the connection is made, and no other can be.
  @Test func aCertificateStaysWithItsConnection() throws {
    let certificates = try DeliverBed.certificates.get()
    let (one, other) = (certificates.identity(), certificates.identity())
    let shown = PresentedCredentials(.certificate(ClientIdentity(one)))
    #expect(shown.mayShow(one, at: 0))
    #expect(!shown.mayShow(other, at: 100 * Self.minute))
    #expect(!self.shown().mayShow(one, at: 0))
  }
}
