import EventLoop
import Model

/// What follows when a connection is lost with pushes in flight. The rule is `LossRule`'s.
final class LossJudge {
  /// For others to be taken and a connection to be made: some round trips.
  private static let soon: Duration = .milliseconds(50)
  /// Nanoseconds.
  private static let longestForOthers: UInt64 = 8_000_000_000

  private let setup: RouteSetup
  private let loop: EventLoop
  private let topics: RouteTopics
  private let traffic: RouteTraffic
  private let waiting: RouteWaiting
  private var lossLog = LossLog()
  private var lossCount = LossCount()

  init(
    _ setup: RouteSetup, topics: RouteTopics, traffic: RouteTraffic, waiting: RouteWaiting
  ) {
    self.setup = setup
    loop = setup.loop
    self.topics = topics
    self.traffic = traffic
    self.waiting = waiting
  }

  /// A connection has ended, with these in flight.
  func lost(_ connection: any PushConnection, _ orphans: [ReadyPush], reason: String) {
    if orphans.contains(where: { $0.history.losses == 0 }) {
      traffic.lost(openedAt: connection.openedAt, at: loop.now)
    }
    if !orphans.isEmpty { lossCount.count(orphans.count, reason: reason) }
    report()
    guard connection.carriesSuspects else {
      // Others were sent on it, so that nothing was alone there.
      return lost(
        orphans.map { push in
          var push = push
          push.loss.joined()
          return push
        })
    }
    lost(orphans)
  }

  /// Tells operators what was lost; called now and then, and at a loss.
  func report() {
    guard let lost = lossCount.due(at: loop.now) else { return }
    setup.options.report(
      .lost(
        setup.target.endpoint, connections: lost.connections, pushes: lost.pushes,
        reason: lost.reason))
  }

  /// They were in flight when their connection was lost; or one was never answered.
  func lost(_ pushes: [ReadyPush]) {
    guard !pushes.isEmpty else { return }
    // While the worker leaves, what is lost leaves its segment, as what may have arrived.
    guard !waiting.isLeaving else {
      for push in pushes.map(topics.back) where !push.isAbandoned { leave(push) }
      return
    }
    lossLog.add(at: loop.now)
    var divided: [ReadyPush] = []
    for push in pushes.map(topics.back) where !push.isAbandoned {
      guard !push.loss.isGivenUp else {
        waitForOthers(push)
        continue
      }
      let (counted, verdict) = judge(push)
      switch verdict {
      case .divide: divided.append(counted)
      case .soon: waiting.waitOut(counted, tries: 1, atMost: Self.soon)
      case .wait(let tries): waiting.waitOut(counted, tries: tries, atLeast: .zero)
      case .reject: counted.settle(as: .rejected(.unanswered))
      }
    }
    waiting.suspect(divided)
  }

  /// Others had an answer since then.
  func wereOthersTaken(since time: UInt64) -> Bool { traffic.lastAcceptedAt > time }

  /// A push was given up.
  /// - Parameter isWell: the connection answered others meanwhile, or showed that it lives.
  func gaveUp(_ push: ReadyPush, sentAt: UInt64, isWell: Bool) {
    guard !waiting.isLeaving, !push.loss.isGivenUp, isWell else { return lost([push]) }
    var push = topics.back(push)
    guard !push.isAbandoned else { return }
    // Where nobody is answered, it is the server and not the push. Others need not be taken for
    // that: who says of a device that it has had too much has looked at it.
    let isItsOwn = traffic.lastLookedAt > sentAt
    push.history.countSilence(suspicion: isItsOwn ? LossRule.silence : 0)
    push.loss.silenced(at: loop.now)
    guard push.history.suspicion < LossRule.mostSuspicion else {
      return push.settle(as: .rejected(.unanswered))
    }
    push.backOffs += 1
    if isItsOwn { waiting.silent(push) } else { waiting.waitOut(push, tries: push.backOffs) }
  }

  /// Others ask now whether credentials are taken. It goes again when they have had their time.
  private func waitForOthers(_ push: ReadyPush) {
    var push = push
    push.loss.lost(at: loop.now)
    push.history.countLoss(all: LossRule.judge(.init(), losses: Int(push.history.losses)).losses)
    let answerTime = topics.topic(named: push.topic).gate.answerTime
    waiting.wait(push, until: loop.now &+ min(answerTime, Self.longestForOthers))
  }

  /// We gave it up, which speaks against nothing; and it may have arrived.
  private func leave(_ push: ReadyPush) {
    var push = push
    push.history.mayHaveArrived = true
    waiting.postpone(push)
  }

  private func judge(_ push: ReadyPush) -> (ReadyPush, LossRule.Verdict) {
    var push = push
    var loss = LossRule.Loss()
    loss.isAlone = push.loss.isAlone
    loss.wereOthersTaken = traffic.lastAcceptedAt > push.loss.lastAt
    if isFirstAlone(push), loss.wereOthersTaken { lossLog.lone(isLost: true) }
    loss.isProof = push.loss.isProof && !lossLog.isCommon
    loss.isLikely = push.loss.isLikely
    push.loss.lost(at: loop.now, speaksAgainst: loss.isProof)
    loss.isOnlyCause = lossLog.isOnlyCause(push.loss, at: loop.now)
    let (losses, verdict) = LossRule.judge(loss, losses: Int(push.history.losses))
    push.history.countLoss(all: losses)
    return (push, verdict)
  }

  func loneWasAnswered(_ push: ReadyPush) {
    if isFirstAlone(push) { lossLog.lone(isLost: false) }
  }

  /// Lost in ordinary traffic and among suspects at most. One that is lost over and over is one
  /// voice among others.
  private func isFirstAlone(_ push: ReadyPush) -> Bool {
    push.loss.isAlone && push.history.losses <= 2
  }
}
