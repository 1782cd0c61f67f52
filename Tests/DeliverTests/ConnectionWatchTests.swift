import Testing

@testable import Deliver

/// What follows from silence on one connection, by what has happened on it.
@Suite struct ConnectionWatchTests {
  private static let options = {
    var options = DeliverOptions { 0 }
    options.connectTimeout = .nanoseconds(10)
    options.requestTimeout = .nanoseconds(100)
    options.passedOverAfter = .nanoseconds(20)
    options.pingTimeout = .nanoseconds(30)
    options.pingInterval = .nanoseconds(1000)
    options.idleBeforePing = .nanoseconds(50)
    options.replacedAfter = .nanoseconds(40)
    return options
  }()

  enum Event {
    case connected(UInt64)
    case received(UInt64)
    case sent(UInt64)
    case answered(sentAt: UInt64, at: UInt64)
    case gaveUp(sentAt: UInt64, at: UInt64)
    case pinged(UInt64)
    case proved(UInt64)
  }

  private func watch(_ events: [Event]) -> ConnectionWatch {
    var watch = ConnectionWatch(openedAt: 1, Self.options)
    for event in events {
      switch event {
      case .connected(let now): watch.connected(at: now)
      case .received(let now): watch.received(at: now)
      case .sent(let now): watch.sent(at: now)
      case .answered(let sentAt, let now):
        watch.answered(sentAt: sentAt, isGivenUp: false, at: now)
      case .gaveUp(let sentAt, let now): watch.answered(sentAt: sentAt, isGivenUp: true, at: now)
      case .pinged(let now): watch.pinged(at: now)
      case .proved(let now):
        watch.isAwaitingPing = true
        watch.pinged(at: now)
      }
    }
    return watch
  }

  private static let verdicts:
    [([Event], hasGivenUp: Bool, longest: UInt64, now: UInt64, ConnectionWatch.Verdict)] = [
      ([.connected(5)], false, 0, 6, .none),
      ([.connected(5)], false, 0, 1005, .none),
      ([.connected(5)], false, 0, 1006, .ping),
      ([.connected(5), .received(500)], false, 0, 1006, .none),
      // A push was given up: does the server live?
      ([.connected(5), .received(90)], true, 50, 95, .ping),
      // It is asked once, and has its time.
      ([.connected(5), .pinged(90)], true, 50, 95, .none),
      ([.connected(5), .pinged(90)], false, 0, 120, .none),
      ([.connected(5), .pinged(90)], false, 0, 121, .close(reason: "no answer to PING")),
      ([.connected(5), .pinged(90), .received(121)], false, 0, 122, .none),
      // Whatever it says, it answers no push.
      ([.connected(5), .received(200)], false, 101, 201, .close(reason: "no answer to any push")),
      ([.connected(5), .received(200)], false, 100, 201, .none),
      ([.connected(5), .received(200), .answered(sentAt: 90, at: 101)], false, 101, 201, .none),
      (
        [.connected(5), .received(200), .answered(sentAt: 90, at: 100)], false, 101, 201,
        .close(reason: "no answer to any push")
      ),
    ]

  @Test(arguments: verdicts.indices)
  func judgesSilence(_ row: Int) {
    let (events, hasGivenUp, longest, now, expected) = Self.verdicts[row]
    #expect(watch(events).judge(hasGivenUp: hasGivenUp, longest: longest, at: now) == expected)
  }

  private static let doubts: [([Event], UInt64, Bool)] = [
    ([.connected(5)], 55, false), ([.connected(5)], 56, true),
    ([.connected(5), .received(50)], 56, false), ([.connected(5), .proved(56)], 57, true),
    ([.connected(5), .proved(56), .received(58)], 59, false),
    ([.connected(5), .proved(56), .received(58)], 109, true),
  ]

  @Test(arguments: doubts.indices)
  func isAskedForASignOfLifeAfterAQuietTime(_ row: Int) {
    let (events, now, expected) = Self.doubts[row]
    #expect(watch(events).isDoubtful(at: now) == expected)
  }

  @Test func aPingForProofIsOneThatMustBeAnswered() {
    var asked = watch([.connected(5), .proved(60)])
    #expect(asked.isAwaitingPing)
    #expect(asked.judge(hasGivenUp: false, longest: 0, at: 90) == .none)
    #expect(
      asked.judge(hasGivenUp: false, longest: 0, at: 91) == .close(reason: "no answer to PING"))
    asked.received(at: 92)
    #expect(!asked.isAwaitingPing)
  }

  @Test func settingsAreWaitedForSoLong() {
    let connected = watch([.connected(5)])
    #expect(!connected.isGreetingTooLong(at: 15) && connected.isGreetingTooLong(at: 16))
  }

  private static let overdue: [([Event], sentAt: UInt64, now: UInt64, Bool)] = [
    ([], 10, 110, false),
    ([], 10, 111, true),
    // A later one was answered, and this one not for three times as long.
    ([.answered(sentAt: 12, at: 17)], 10, 30, false),
    ([.answered(sentAt: 12, at: 17)], 10, 31, true),
    ([.answered(sentAt: 9, at: 17)], 10, 31, false),
    ([.answered(sentAt: 12, at: 24)], 10, 46, false),
    ([.answered(sentAt: 12, at: 24)], 10, 47, true),
    // What was given up says nothing of the time that answers take.
    ([.gaveUp(sentAt: 12, at: 24)], 10, 47, false),
  ]

  private static let second = ConnectionWatch.grace

  /// On a probe connection or not. Others were taken since, or not.
  private static let overdueProbes:
    [([Event], isProbe: Bool, sentAt: UInt64, now: UInt64, wereOthersAccepted: Bool, Bool)] = [
      // A probe among others, as any; alone, when its connection lives and others are taken.
      ([.answered(sentAt: 12, at: 17)], true, 10, 31, false, true),
      ([.received(10 + second)], true, 10, 31, true, true),
      ([.received(10 + second)], true, 10, 30, true, false),
      ([.received(10 + second)], true, 10, 31, false, false),
      ([.received(9 + second)], true, 10, 31, true, false),
      ([], true, 10, 31, true, false),
      ([.received(10 + second)], false, 10, 31, true, false),
    ]

  @Test(arguments: overdueProbes.indices)
  func probesAreGivenUpSooner(_ row: Int) {
    let (events, isProbe, sentAt, now, wereOthersAccepted, expected) = Self.overdueProbes[row]
    #expect(
      watch(events).isOverdue(
        sentAt: sentAt, isForProbes: isProbe, at: now, wereOthersAccepted: wereOthersAccepted)
        == expected)
  }

  private static let well: [([Event], isProbe: Bool, Bool)] = [
    ([], false, false), ([], true, false),
    ([.answered(sentAt: 9, at: 11)], false, true),
    ([.answered(sentAt: 9, at: 11)], true, true),
    ([.answered(sentAt: 9, at: 10)], false, false),
    ([.received(10 + second)], false, false), ([.received(10 + second)], true, true),
    ([.received(9 + second)], true, false),
  ]

  @Test(arguments: well.indices)
  func aSilenceSaysNothingAgainstAConnectionThatLives(_ row: Int) {
    let (events, isProbe, expected) = Self.well[row]
    #expect(watch(events).isWell(since: 10, isForProbes: isProbe) == expected)
  }

  @Test func aProbeConnectionWithoutAnAnswerIsAskedOnceWhetherItLives() {
    var held = watch([.connected(5), .sent(10)])
    #expect(!held.isHeldUp(at: 10 + Self.second) && held.isHeldUp(at: 11 + Self.second))
    #expect(held.judge(hasGivenUp: false, longest: 0, isHeldUp: true, at: 11) == .ping)
    held.received(at: 10 + Self.second)
    #expect(
      held.judge(hasGivenUp: false, longest: 0, isHeldUp: true, at: 11 + Self.second) == .none)
    held.answered(sentAt: 10, isGivenUp: false, at: 20 + Self.second)
    #expect(!held.isHeldUp(at: 20 + 2 * Self.second))
  }

  @Test(arguments: overdue.indices)
  func pushesWithoutAnAnswerAreGivenUp(_ row: Int) {
    let (events, sentAt, now, expected) = Self.overdue[row]
    #expect(watch(events).isOverdue(sentAt: sentAt, at: now) == expected)
  }

  @Test func slowAnswersAreForgotten() {
    var slow = watch([.answered(sentAt: 12, at: 112)])
    #expect(!slow.isOverdue(sentAt: 10, at: 100))
    for _ in 0..<200 { slow.fade() }
    #expect(slow.isOverdue(sentAt: 10, at: 107) && !slow.isOverdue(sentAt: 10, at: 100))
  }

  @Test func isReplacedWhenItTakesNothingThatWaits() {
    var full = watch([.connected(5)])
    func takesNothing(takes: Bool = false, isWaitedFor: Bool = true, at now: UInt64) -> Bool {
      full.takesNothing(takes: takes, isWaitedFor: isWaitedFor, at: now)
    }
    #expect(!takesNothing(at: 100) && !takesNothing(at: 139))
    #expect(!takesNothing(isWaitedFor: false, at: 140))
    #expect(full.isIdle(at: 2_000_000_000))
    #expect(!takesNothing(takes: true, at: 140) && !takesNothing(at: 141))
    #expect(takesNothing(at: 181))
    // It was of as little use as one that failed.
    #expect(!full.isIdle(at: 2_000_000_000))
  }

  private static let idle: [([Event], UInt64, Bool)] = [
    ([], 2_000_000_000, false),
    ([.connected(5)], 1_000_000_004, false),
    ([.connected(5)], 1_000_000_005, true),
    ([.connected(5), .received(9)], 1_000_000_005, true),
    ([.connected(5), .sent(9)], 1_000_000_008, false),
    ([.connected(5), .sent(9)], 1_000_000_009, true),
    ([.connected(5), .sent(9), .answered(sentAt: 9, at: 20)], 1_000_000_009, false),
    ([.connected(5), .sent(9), .answered(sentAt: 9, at: 20)], 1_000_000_020, true),
    // It was quiet, and asked for a sign of life.
    ([.connected(5), .proved(60)], 61, true),
  ]

  @Test(arguments: idle.indices)
  func isIdleAWhileAfterItWasUsed(_ row: Int) {
    let (events, now, expected) = Self.idle[row]
    #expect(watch(events).isIdle(at: now) == expected)
  }

  @Test func knowsWhatItWasUsedFor() {
    var new = watch([])
    #expect(!new.wasOpened && new.isFresh && new.openedAt == 1)
    new.connected(at: 5)
    #expect(new.wasOpened && new.isFresh)
    new.sent(at: 7)
    #expect(!new.isFresh)
  }
}
