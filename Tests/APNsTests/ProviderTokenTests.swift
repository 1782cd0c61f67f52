import Fixtures
import Synchronization
import Testing
import Text

@testable import APNs
@testable import Deliver

@Suite struct ProviderTokenTests {
  static let minute: Int64 = 60_000
  /// A time of issue with the usual lifetime, and with one of an hour.
  static let start: Int64 = 1_699_999_200_000

  private let monotonic = ManualClock()

  private func source(
    lifetime: Duration = .seconds(50 * 60), fails: Bool = false
  ) -> ProviderTokenSource {
    let monotonic = monotonic
    let key = ProviderKey(keyID: "KEYKEYKEY1", teamID: "TEAMTEAM01") { message in
      if fails { throw SigningError("no") }
      return Array("S\(message.count)".utf8)
    }
    return ProviderTokenSource(
      key: key, lifetime: lifetime,
      monotonic: {
        UInt64(monotonic.milliseconds.load(ordering: .relaxed)) * 1_000_000
      })
  }

  @Test func writesHeaderAndClaims() throws {
    let token = try source().token(now: Self.start + 29 * Self.minute)
    let text = String(decoding: Array(token.authorization.bytes), as: UTF8.self)
    #expect(text.hasPrefix("bearer "))
    let parts = text.dropFirst("bearer ".count).split(separator: ".").map { part in
      Base64URL.decode(part.utf8).map { String(decoding: $0, as: UTF8.self) }
    }
    #expect(parts.count == 3)
    #expect(parts.first == #"{"alg":"ES256","kid":"KEYKEYKEY1"}"#)
    #expect(parts.dropFirst().first == #"{"iss":"TEAMTEAM01","iat":1699999200}"#)
    // What was signed is both parts as they are sent, and the dot between them.
    #expect(parts.last == "S\(text.lastIndex(of: ".").map { text[..<$0].utf8.count - 7 } ?? 0)")
  }

  @Test func keepsATokenUntilItComesOfAge() throws {
    let source = source()
    let first = try source.token(now: Self.start)
    #expect(try source.token(now: Self.start + 49 * Self.minute) === first)
    let second = try source.token(now: Self.start + 50 * Self.minute)
    #expect(second !== first)
    #expect(second.issuedAt == Self.start + 30 * Self.minute)
  }

  @Test func keepsTheLifetimeBetweenFortyAndSixtyMinutes() throws {
    let hasty = source(lifetime: .seconds(1))
    let first = try hasty.token(now: Self.start)
    #expect(try hasty.token(now: Self.start + 39 * Self.minute) === first)
    #expect(try hasty.token(now: Self.start + 40 * Self.minute) !== first)
    let slow = source(lifetime: .seconds(86_400))
    let kept = try slow.token(now: Self.start)
    #expect(try slow.token(now: Self.start + 60 * Self.minute) !== kept)
  }

  @Test func replacesARefusedTokenOnceInTwentyMinutes() throws {
    let source = source()
    let first = try source.token(now: Self.start)
    #expect(try source.replacement(for: first, now: Self.start + 19 * Self.minute) === first)
    let second = try source.replacement(for: first, now: Self.start + 21 * Self.minute)
    #expect(second !== first && second.issuedAt == Self.start + 21 * Self.minute)
    // Another lane was refused with the old one at the same time: it gets the same new one.
    #expect(try source.replacement(for: first, now: Self.start + 21 * Self.minute) === second)
  }

  /// Two lanes read the clock, and the one that read it first asks last.
  @Test func makesOneTokenForLanesWhoseClocksStraddle() throws {
    let source = source()
    let first = try source.token(now: Self.start)
    for early in [Int64(1), 999, 60_000, 5 * Self.minute] {
      #expect(try source.token(now: Self.start - early) === first)
      #expect(try source.replacement(for: first, now: Self.start - early) === first)
    }
    // At its end too: the second lane's time is still before it.
    let second = try source.token(now: Self.start + 50 * Self.minute)
    #expect(second !== first)
    #expect(try source.token(now: Self.start + 50 * Self.minute - 1) === second)
  }

  @Test func makesANewOneWhenTheClockWasSetBackButNotAtEachStep() throws {
    let source = source()
    let first = try source.token(now: Self.start)
    monotonic.advance(59_000)
    #expect(try source.token(now: Self.start - 120 * Self.minute) === first)
    monotonic.advance(1_000)
    let second = try source.token(now: Self.start - 120 * Self.minute)
    #expect(second !== first)
    #expect(second.issuedAt == Self.start - 120 * Self.minute)
  }

  /// Forward and back by two hours, as a guest that slept or whose host's clock is wrong: what is
  /// used then is what any other worker uses at that time.
  @Test(arguments: [Int64(120), -120]) func aClockThatIsSetAndSetRightAgain(by step: Int64) throws {
    let source = source()
    let first = try source.token(now: Self.start + Self.minute)
    monotonic.advance(61_000)
    let other = try source.token(now: Self.start + step * Self.minute)
    #expect(other.issuedAt == Self.start + step * Self.minute)
    monotonic.advance(61_000)
    let last = try source.token(now: Self.start + 3 * Self.minute)
    #expect(Array(last.authorization.bytes) == Array(first.authorization.bytes))
  }

  /// The wall clock stands still or is set back again and again; an hour passes all the same.
  @Test func tokensComeOfAgeByAClockThatNobodySets() throws {
    let source = source()
    let now = Self.start + 10 * Self.minute
    let first = try source.token(now: now)
    monotonic.advance(40 * Self.minute - 1)
    #expect(try source.token(now: now) === first)
    monotonic.advance(1)
    #expect(try source.token(now: now) !== first)
  }

  @Test func anotherKeySignsFromNowOn() throws {
    let source = source()
    let first = try source.token(now: Self.start)
    source.use(ProviderKey(keyID: "KEYKEYKEY2", teamID: "TEAMTEAM01") { _ in [7] })
    let second = try source.token(now: Self.start)
    #expect(source.keyID == "KEYKEYKEY2" && second.key !== first.key)
    #expect(second.issuedAt == first.issuedAt && second !== first)
  }

  @Test func saysThatTheKeyDoesNotSign() {
    #expect(throws: SigningError.self) { try source(fails: true).token(now: Self.start) }
  }
}
