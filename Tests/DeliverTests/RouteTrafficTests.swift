import Model
import Testing

@testable import Deliver

@Suite struct RouteTrafficTests {
  private let tally = SegmentTally()
  private let traffic = RouteTraffic(DeliverOptions(wallClock: { 0 }))

  private func push(losses: UInt8 = 0) -> ReadyPush {
    var history = PushHistory()
    for _ in 0..<losses { history.countLoss(all: Int(history.losses) + 1) }
    return ReadyPush(
      batch: .made(topic: "a", [.production], tally), index: 0, history: history)
  }

  @Test func itMovesWhenPushesGoOrAnswersCome() {
    #expect(traffic.lastMovedAt == 0)
    traffic.rests(at: 1)
    #expect(traffic.lastMovedAt == 1)
    traffic.sent(3, at: 2)
    #expect(traffic.lastMovedAt == 2)
    traffic.answered(1, at: 3)
    #expect(traffic.lastMovedAt == 3)
    traffic.note(AcceptedAnswers(rateSince: 0), at: 4)
    #expect(traffic.lastMovedAt == 4)
    // What was lost, or ended without an answer, is no sign of life.
    traffic.window.lost(openedAt: 0, at: 5)
    traffic.failed(push(), sentAt: 5, at: 6)
    #expect(traffic.lastMovedAt == 4 && traffic.lastAcceptedAt == 0)
  }

  /// A route that was silent opens when it is quiet, and the next push has its time to be answered.
  @Test func aQuietMinuteForgetsWhatWasNotAnswered() {
    let openness = RouteOpenness(closedAfter: 1000, stalledAfter: 3000, silentAfter: 9000)
    func closure(at now: UInt64, waits: Bool = false) -> RouteObstacle.Kind? {
      openness.closure(
        RouteOpenness.Facts(
          openConnections: 1, takes: true, hasSendablePushes: waits, hasPushes: true,
          lastMovedAt: traffic.lastMovedAt, lastSentAt: traffic.lastSentAt,
          lastAnsweredAt: traffic.lastAnsweredAt, unanswered: traffic.unanswered), at: now)
    }
    traffic.sent(11, at: 1)
    #expect(closure(at: 9001) == .unreachable)
    #expect(closure(at: Evidence.memory) == .unreachable)
    let later = Evidence.memory + 1
    #expect(closure(at: later) == nil)
    traffic.sent(1, at: later + 5)
    #expect(closure(at: later + 6) == nil)
    #expect(traffic.unanswered == (1, later + 5))
    traffic.sent(9, at: later + 7)
    #expect(closure(at: later + 9005) == .unreachable)
  }

  @Test func aServerIsInOrderForAWhileAfterItAccepted() {
    let second: UInt64 = 1_000_000_000
    #expect(!traffic.isTaking(at: 10 * second))
    traffic.ended(push(), sentAt: 8 * second, at: 9 * second)
    #expect(traffic.lastLookedAt == 9 * second && traffic.lastAcceptedAt == 0)
    traffic.accepted(push(), at: 10 * second)
    #expect(traffic.lastAcceptedAt == 10 * second && traffic.lastLookedAt == 10 * second)
    // A server that has too much has not looked.
    traffic.failed(push(), sentAt: 10 * second, at: 11 * second)
    #expect(traffic.lastLookedAt == 10 * second)
    #expect(traffic.isTaking(at: 11 * second) && !traffic.isTaking(at: 13 * second))
  }

  /// Where nobody fails any more, an earlier row of refusals says nothing.
  @Test func whatIsTakenAgainIsWelcome() {
    traffic.accepted(push(), at: 1)
    for _ in 0..<20 { traffic.failed(push(), sentAt: 1, at: 1) }
    #expect(!tally.fanOut.isWelcome)
    traffic.forget(at: 100_000_000_000)
    traffic.accepted(push(), at: 100_000_000_000)
    #expect(tally.fanOut.isWelcome && tally.fanOut.failures == 0)
  }

  @Test func answersOfPushesThatWereNeverLostLetMoreBeInFlight() {
    let limit = traffic.window.limit
    traffic.answered(0, at: 1)
    #expect(traffic.window.limit == limit)
    traffic.answered(1, at: 1)
    #expect(traffic.window.limit == limit + 1)
    var answers = AcceptedAnswers(rateSince: 0)
    answers.add(push(), sentAt: 0)
    answers.add(push(losses: 1), sentAt: 0)
    traffic.note(answers, at: 1)
    #expect(traffic.window.limit == limit + 2)
  }

  @Test func lossesThatComeOftenMakeCarefulUntilTheyAreOld() {
    #expect(!traffic.isCareful)
    traffic.window.lost(openedAt: 0, at: 1)
    #expect(traffic.isCareful && traffic.window.limit == LossWindow.floor)
    traffic.forget(at: 61_000_000_000)
    #expect(!traffic.isCareful)
  }

  /// A fan-out of which nothing was taken, at a server that takes next to nothing.
  @Test func whoGetsNowhereIsStuckUntilMoreIsTaken() {
    var now: UInt64 = 10_000_000_000
    #expect(traffic.outliers.isEmpty)
    for _ in 0..<100 {
      now += 50_000_000
      traffic.sent(1, at: now)
      traffic.failed(push(), sentAt: now, at: now)
    }
    #expect(traffic.overload.isAtFloor && traffic.outliers.map { $0 === tally.fanOut } == [true])
    traffic.accepted(push(), at: now)
    #expect(traffic.overload.isAtFloor && traffic.outliers.isEmpty)
  }

  @Test func aLittleMoreMayBeInFlightWhileNothingIsAnswered() {
    let second: UInt64 = 1_000_000_000
    #expect(traffic.inFlightLimit(at: 100 * second) == LossWindow.initial)
    traffic.sent(64, at: 100 * second)
    traffic.sent(64, at: 101 * second)
    #expect(traffic.inFlightLimit(at: 101 * second - 1) == LossWindow.initial)
    #expect(traffic.inFlightLimit(at: 101 * second) == LossWindow.initial + 8)
    #expect(traffic.inFlightLimit(at: 200 * second) == 2 * LossWindow.initial)
    traffic.answered(1, at: 200 * second)
    #expect(traffic.inFlightLimit(at: 200 * second) == LossWindow.initial + 1)
    traffic.sent(1, at: 200 * second)
    traffic.window.lost(openedAt: 0, at: 200 * second)
    #expect(traffic.inFlightLimit(at: 300 * second) == LossWindow.floor)
  }

  @Test func withoutABoundAllMayGo() {
    #expect(traffic.overload.rate == nil && traffic.overload.allowance(ready: 7, at: 1) >= 7)
  }
}
