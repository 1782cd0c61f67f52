import Fixtures
import TLS
import Testing
import Text

@testable import WebPush

@Suite struct VAPIDKeysTests {
  static let privateKey = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
  static let publicKey =
    "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8"

  @Test func aKeyIsThirtyTwoBytesOrPEM() throws {
    let raw = try VAPIDKeys(id: "k1", privateKey: Self.privateKey + "\n")
    #expect(Base64URL.encode(raw.publicKey) == Self.publicKey)
    let bytes = try #require(Base64URL.decode(Self.privateKey.utf8))
    let pem = try VAPIDKeys(id: "k1", privateKey: ES256Key(privateKey: bytes).privateKeyPEM)
    #expect(pem.publicKey == raw.publicKey)
  }

  /// A key whose first bytes are zero is 32 bytes long all the same.
  @Test func aShortNumberIsWrittenInFull() throws {
    let small = [UInt8](repeating: 0, count: 31) + [7]
    #expect(try VAPIDKeys(id: "k1", privateKey: Base64URL.encode(small)).publicKey.count == 65)
    #expect((try? VAPIDKeys(id: "k1", privateKey: Base64URL.encode([7]))) == nil)
  }

  @Test(arguments: ["", "a b", "a:b", "ä", "a/b", String(repeating: "a", count: 65)])
  func refusesIDsThatBindingsCannotHold(id: String) {
    #expect((try? VAPIDKeys(id: id, privateKey: Self.privateKey)) == nil)
  }

  @Test(arguments: ["", "xyz", "-----BEGIN PRIVATE KEY-----", publicKey])
  func refusesWhatIsNoPrivateKey(text: String) {
    #expect((try? VAPIDKeys(id: "k1", privateKey: text)) == nil)
  }

  @Test(
    arguments: [
      ("mailto:push@example.com", true), ("mailto:a.b+c@mail.example.com", true),
      ("https://example.com", true), ("https://example.com/contact?x=1", true),
      ("https://example.com:8443/", true), ("mailto:push@localhost", false),
      ("mailto:push@a.localhost", false), ("https://localhost", false),
      ("https://localhost/x", false), ("mailto: push@example.com", false),
      ("mailto:<push@example.com>", false), ("push@example.com", false), ("mailto:", false),
      ("mailto:example.com", false), ("mailto:@example.com", false),
      ("mailto:a@b@example.com", false), ("mailto:mailto:push@", false),
      ("http://example.com", false), ("https://", false), ("https://example", false),
      ("https://.com", false), ("https://me@example.com/", false), ("", false),
      ("mailto:ä@example.com", false),
    ])
  func takesRealSubjectsAlone(text: String, isReal: Bool) {
    #expect((VAPIDSubject(text) != nil) == isReal)
  }
}

@Suite struct VAPIDTokenTests {
  static let hour: Int64 = 3_600_000
  static let start: Int64 = 1_700_000_000_000

  private let monotonic = ManualClock()

  static func keys(_ ids: String...) throws -> VAPIDKeyRing.Keys {
    let subject = try #require(VAPIDSubject("mailto:push@example.com"))
    let pairs = try ids.map { id in
      let secret = Array(repeating: UInt8(0), count: 31) + [id.utf8.last ?? 1]
      return try VAPIDKeys(id: id, privateKey: Base64URL.encode(secret))
    }
    return VAPIDKeyRing.Keys(subject: subject, pairs: pairs)
  }

  private func source(_ ring: VAPIDKeyRing) -> VAPIDTokenSource {
    let monotonic = monotonic
    return VAPIDTokenSource(
      origin: "https://push.example.net", ring,
      monotonic: { UInt64(monotonic.milliseconds.load(ordering: .relaxed)) * 1_000_000 })
  }

  private func text(_ tokens: VAPIDTokens, _ id: String) -> String? {
    tokens.authorization(id.utf8).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test func aPairMaySignElsewhere() throws {
    let known = try VAPIDKeys(id: "k1", privateKey: VAPIDKeysTests.privateKey)
    let pair = VAPIDKeys(id: "k2", publicKey: known.publicKey) { message in
      Array(message.prefix(3))
    }
    let subject = try #require(VAPIDSubject("mailto:push@example.com"))
    let keys = VAPIDKeyRing.Keys(subject: subject, pairs: [pair])
    let value = try #require(text(try source(VAPIDKeyRing(keys)).tokens(now: Self.start), "k2"))
    // The beginning of what is signed, three bytes as base64url.
    let signature = Base64URL.encode(Array("eyJ".utf8))
    #expect(value.hasSuffix(".\(signature), k=\(VAPIDKeysTests.publicKey)"))
  }

  @Test func aTokenSaysWhoSendsToWhomAndUntilWhen() throws {
    let keys = try Self.keys("k1")
    let tokens = try source(VAPIDKeyRing(keys)).tokens(now: Self.start)
    let value = try #require(text(tokens, "k1"))
    #expect(value.hasPrefix("vapid t="))
    let parts = value.dropFirst("vapid t=".utf8.count).split(separator: ", k=")
    #expect(parts.count == 2)
    let key = try #require(Base64URL.decode(parts[1].utf8))
    #expect(key == keys.pairs[0].publicKey)
    let token = parts[0].split(separator: ".")
    #expect(token.count == 3)
    let texts = token.map { Base64URL.decode($0.utf8) ?? [] }
    #expect(String(decoding: texts[0], as: UTF8.self) == #"{"typ":"JWT","alg":"ES256"}"#)
    #expect(
      String(decoding: texts[1], as: UTF8.self)
        == #"{"aud":"https://push.example.net","exp":1700043200,"sub":"mailto:push@example.com"}"#)
    let secret = Array(repeating: UInt8(0), count: 31) + [UInt8(ascii: "1")]
    let verifier = try ES256PublicKey(pem: ES256Key(privateKey: secret).publicKeyPEM)
    #expect(verifier.verify(Array("\(token[0]).\(token[1])".utf8), signature: texts[2]))
  }

  @Test func eachKeyPairHasATokenOfItsOwn() throws {
    let tokens = try source(VAPIDKeyRing(Self.keys("k1", "k2"))).tokens(now: Self.start)
    let (one, two) = (text(tokens, "k1"), text(tokens, "k2"))
    #expect(one != nil && two != nil && one != two)
    for other in ["", "k", "k11", "K1"] { #expect(text(tokens, other) == nil) }
  }

  @Test func aTokenIsSignedAgainAtHalfOfItsLife() throws {
    let source = try source(VAPIDKeyRing(Self.keys("k1")))
    let first = try source.tokens(now: Self.start)
    monotonic.advance(6 * Self.hour - 1)
    #expect(try source.tokens(now: Self.start + 6 * Self.hour - 1) === first)
    monotonic.advance(1)
    let second = try source.tokens(now: Self.start + 6 * Self.hour)
    #expect(second !== first && second.signedAt == Self.start + 6 * Self.hour)
  }

  /// The wall clock stands still, or was set back: the token gets no older by it.
  @Test func eitherClockMakesATokenOld() throws {
    let source = try source(VAPIDKeyRing(Self.keys("k1")))
    let first = try source.tokens(now: Self.start)
    monotonic.advance(6 * Self.hour)
    let second = try source.tokens(now: Self.start)
    #expect(second !== first)
    monotonic.advance(Self.hour)
    #expect(try source.tokens(now: Self.start + 7 * Self.hour) !== second)
  }

  /// A clock that is set to and fro signs once in an hour at most.
  @Test func signsAtMostOnceInAnHour() throws {
    let source = try source(VAPIDKeyRing(Self.keys("k1")))
    let first = try source.tokens(now: Self.start)
    monotonic.advance(Self.hour - 1)
    for hours in [Int64(-30), -7, 7, 30] {
      #expect(try source.tokens(now: Self.start + hours * Self.hour) === first)
    }
    monotonic.advance(1)
    #expect(try source.tokens(now: Self.start - 7 * Self.hour) !== first)
  }

  @Test func otherKeysAreUsedAtOnce() throws {
    let ring = try VAPIDKeyRing(Self.keys("k1"))
    let source = source(ring)
    let first = try source.tokens(now: Self.start)
    ring.use(try Self.keys("k1", "k2"))
    let second = try source.tokens(now: Self.start)
    #expect(second !== first && text(second, "k2") != nil)
  }
}
