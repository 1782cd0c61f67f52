import EventLoop
import Model

/// What follows when a connection is lost with pushes in flight. The rule is `LossRule`'s.
final class LossJudge {
  /// Nanoseconds between two notices of losses.
  private static let reportInterval: UInt64 = 10_000_000_000
  /// Nanoseconds.
  private static let longestForOthers: UInt64 = 8_000_000_000

  private let setup: RouteSetup
  private let loop: EventLoop
  private let topics: RouteTopics
  private let traffic: RouteTraffic
  private let waiting: RouteWaiting
  /// Since the last notice: one at once, and those that follow soon together.
  private var unreported = (connections: 0, pushes: 0, reason: "")
  private var reportedAt: UInt64?

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
    if !orphans.isEmpty {
      unreported.connections += 1
      unreported.pushes += orphans.count
      unreported.reason = reason
    }
    report()
    lost(orphans)
  }

  /// Tells operators what was lost; called now and then, and at a loss.
  func report() {
    let now = loop.now
    guard unreported.connections > 0 else { return }
    if let reportedAt, now &- reportedAt < Self.reportInterval { return }
    setup.options.report(
      .lost(
        setup.target.endpoint, connections: unreported.connections, pushes: unreported.pushes,
        reason: unreported.reason))
    unreported = (0, 0, "")
    reportedAt = now
  }

  /// They were in flight when their connection was lost, or one was never answered there.
  private func lost(_ pushes: [ReadyPush]) {
    for push in pushes.map(topics.back) where !push.isAbandoned {
      if waiting.isLeaving {
        // While the worker leaves it leaves its segment, as what may have arrived.
        leave(push)
      } else if push.loss.isGivenUp {
        waitForOthers(push)
      } else {
        divide(push)
      }
    }
  }

  private func divide(_ push: ReadyPush) {
    let loss = LossRule.Loss(
      isAlone: push.loss.isAlone, wasInTurn: push.loss.goesInTurn,
      wereOthersAccepted: wereOthersAccepted(since: push.loss.lastAt))
    var push = push
    let (losses, verdict) = LossRule.judge(loss, losses: Int(push.history.losses))
    push.history.countLoss(all: losses)
    push.loss.lastAt = loop.now
    push.loss.isAlone = false
    switch verdict {
    case .probe: waiting.probe(push)
    case .backOff(let tries): waiting.waitOut(push, tries: tries, atLeast: .zero)
    case .reject: push.settle(as: .rejected(.unanswered))
    }
  }

  /// Others had an answer since then.
  func wereOthersAccepted(since time: UInt64) -> Bool { traffic.lastAcceptedAt > time }

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
    guard push.history.suspicion < LossRule.mostSuspicion else {
      return push.settle(as: .rejected(.unanswered))
    }
    push.backOffs += 1
    waiting.waitOut(push, tries: push.backOffs)
  }

  /// Others ask now whether credentials are taken. It goes again when they have had their time.
  private func waitForOthers(_ push: ReadyPush) {
    var push = push
    push.loss = LossTrace(lastAt: loop.now)
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
}
