import Testing

@testable import FCM

/// Seconds as the machine's nanoseconds.
private func at(_ seconds: Double) -> UInt64 { UInt64(seconds * 1_000_000_000) }

/// The machine, as `#expect` can call it.
private final class Subject {
  private var machine = AccessTokenMachine()

  var current: AccessToken? { machine.current }
  var problem: AccessTokenMachine.Problem? { machine.problem }

  func token(at now: UInt64) -> AccessToken? { machine.token(at: now) }
  func mayAsk(at now: UInt64) -> Bool { machine.mayAsk(at: now) }
  func heard(_ grant: TokenGrant, at now: UInt64, chance: UInt64) {
    machine.heard(grant, at: now, chance: chance)
  }
  func refused(_ token: AccessToken, at now: UInt64) -> Bool { machine.refused(token, at: now) }
  func forgetProblem(at now: UInt64) { machine.forgetProblem(at: now) }
  func dropped(at now: UInt64) { machine.dropped(at: now) }
}

@Suite struct AccessTokenMachineTests {
  private static let hour = TokenGrant.token("one", lifetime: .seconds(3600))

  /// With a token of an hour, at second 1000.
  private static func fresh(_ grant: TokenGrant = hour, chance: UInt64 = 0) -> Subject {
    let machine = Subject()
    #expect(machine.mayAsk(at: at(1000)))
    machine.heard(grant, at: at(1000), chance: chance)
    return machine
  }

  private static func text(_ machine: Subject, at time: UInt64) -> String? {
    machine.token(at: time).map {
      String(decoding: $0.authorization.bytes, as: UTF8.self)
    }
  }

  @Test func asksOnceAtATime() {
    let machine = Subject()
    #expect(machine.token(at: 0) == nil && machine.problem == nil)
    #expect(machine.mayAsk(at: 0))
    #expect(!machine.mayAsk(at: at(5)))
    machine.heard(Self.hour, at: at(6), chance: 0)
    #expect(!machine.mayAsk(at: at(6)))
    #expect(Self.text(machine, at: at(6)) == "Bearer one")
  }

  @Test(arguments: [(UInt64(0), 3300.0), (512, 3270.0), (1023, 3240.1)])
  func asksFiveToSixMinutesBeforeTheEnd(chance: UInt64, seconds: Double) {
    let machine = Self.fresh(chance: chance)
    #expect(!machine.mayAsk(at: at(1000 + seconds - 1)))
    #expect(machine.mayAsk(at: at(1000 + seconds)))
  }

  @Test func usesATokenOfAFewMinutesForHalfItsLife() {
    let machine = Self.fresh(.token("one", lifetime: .seconds(200)), chance: 1023)
    #expect(!machine.mayAsk(at: at(1099)))
    #expect(machine.mayAsk(at: at(1100)))
  }

  @Test func theOldTokenIsInUseUntilAnotherComes() {
    let machine = Self.fresh()
    let old = machine.current
    #expect(machine.mayAsk(at: at(4300)))
    #expect(machine.token(at: at(4400)) === old)
    machine.heard(.failed("no answer"), at: at(4400), chance: 0)
    #expect(machine.token(at: at(4599)) === old)
    #expect(machine.token(at: at(4600)) == nil)
    #expect(machine.problem == .init(words: "no answer", isPermanent: false))
    #expect(machine.mayAsk(at: at(4600)))
    machine.heard(.token("two", lifetime: .seconds(3600)), at: at(4601), chance: 0)
    #expect(Self.text(machine, at: at(4601)) == "Bearer two" && machine.problem == nil)
  }

  /// With an even chance each wait is half of the full one.
  @Test func waitsLongerAfterEachFailure() {
    let machine = Subject()
    var now = at(1000)
    for wait in [0.5, 1, 2, 4, 8, 16, 30, 30, 30] {
      #expect(machine.mayAsk(at: now))
      machine.heard(.failed("no"), at: now, chance: 0)
      #expect(!machine.mayAsk(at: now + at(wait) - 1))
      now += at(wait)
    }
    #expect(machine.mayAsk(at: now))
    machine.heard(Self.hour, at: now, chance: 0)
    now += at(3300)
    #expect(machine.mayAsk(at: now))
    machine.heard(.failed("no"), at: now, chance: 1023)
    // The row has ended, and chance is at its end.
    #expect(!machine.mayAsk(at: now + at(0.99)) && machine.mayAsk(at: now + at(1)))
  }

  @Test func waitsAsLongAsTheServerAsksWithinBounds() {
    for (asked, wait) in [(Duration.seconds(40), 40.0), (.seconds(86_400), 900), (.zero, 0.5)] {
      let machine = Subject()
      #expect(machine.mayAsk(at: 0))
      machine.heard(.failed("no", retryAfter: asked), at: 0, chance: 0)
      #expect(!machine.mayAsk(at: at(wait) - 1) && machine.mayAsk(at: at(wait)))
    }
  }

  @Test func afterAPermanentErrorItHolds() {
    let machine = Self.fresh()
    #expect(machine.mayAsk(at: at(4300)))
    machine.heard(.refused("invalid_grant"), at: at(4300), chance: 0)
    #expect(machine.problem == .init(words: "invalid_grant", isPermanent: true))
    // What is left of the old token's life is used.
    #expect(Self.text(machine, at: at(4599)) == "Bearer one")
    #expect(!machine.mayAsk(at: at(4599)))
    #expect(machine.mayAsk(at: at(4600)))
  }

  @Test func aRefusedTokenIsReplacedOnce() throws {
    let machine = Self.fresh()
    let first = try #require(machine.current)
    #expect(machine.refused(first, at: at(1060)))
    #expect(machine.token(at: at(1060)) == nil)
    #expect(machine.mayAsk(at: at(1060)))
    // The other lanes hear the same.
    #expect(machine.refused(first, at: at(1061)) && !machine.mayAsk(at: at(1061)))
    machine.heard(.token("two", lifetime: .seconds(3600)), at: at(1062), chance: 0)
    #expect(machine.refused(first, at: at(1063)) && !machine.mayAsk(at: at(1063)))
    let second = try #require(machine.token(at: at(1063)))
    // Another would be refused, too.
    #expect(!machine.refused(second, at: at(1121)))
    #expect(machine.token(at: at(1121)) === second && !machine.mayAsk(at: at(1121)))
    #expect(machine.refused(second, at: at(1122)) && machine.mayAsk(at: at(1122)))
  }

  @Test func aRefusalAsksNobodyMoreOftenWhoHasNoAnswer() throws {
    let machine = Self.fresh()
    let token = try #require(machine.current)
    #expect(machine.mayAsk(at: at(4300)))
    machine.heard(.failed("no", retryAfter: .seconds(100)), at: at(4300), chance: 0)
    #expect(machine.refused(token, at: at(4301)))
    #expect(!machine.mayAsk(at: at(4399)) && machine.mayAsk(at: at(4400)))
    machine.heard(.refused("invalid_grant"), at: at(4400), chance: 0)
    #expect(!machine.refused(token, at: at(4401)) && machine.token(at: at(4401)) == nil)
  }

  /// As a file is read again and again.
  @Test func theSameTokenAgainStaysTheSame() throws {
    let grant = TokenGrant.token("one", lifetime: nil)
    let machine = Self.fresh(grant)
    let token = try #require(machine.current)
    #expect(!machine.mayAsk(at: at(1299)) && machine.mayAsk(at: at(1300)))
    machine.heard(grant, at: at(1300), chance: 0)
    #expect(machine.token(at: at(1_000_000)) === token)
    // It is as old as it was.
    #expect(machine.refused(token, at: at(1301)) && machine.mayAsk(at: at(1301)))
    // One that was refused is tried once more.
    machine.heard(grant, at: at(1302), chance: 0)
    let again = try #require(machine.token(at: at(1302)))
    #expect(again !== token && !machine.refused(again, at: at(1303)))
  }

  @Test func anotherOriginIsAskedAtOnce() {
    let machine = Self.fresh()
    #expect(machine.mayAsk(at: at(4300)))
    machine.heard(.refused("invalid_grant"), at: at(4300), chance: 0)
    machine.forgetProblem(at: at(4301))
    #expect(machine.problem == nil && Self.text(machine, at: at(4301)) == "Bearer one")
    #expect(machine.mayAsk(at: at(4301)))
    machine.dropped(at: at(4302))
    #expect(machine.mayAsk(at: at(4302)))
  }
}
