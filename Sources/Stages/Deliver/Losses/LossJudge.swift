import EventLoop
import Model

/// Judges pushes that were in flight on a lost connection, by `LossRule`: one for which a server
/// closes connections must not take others down with it again and again.
final class LossJudge {
  private let context: RouteContext
  private let waiting: RouteWaiting

  init(_ context: RouteContext, waiting: RouteWaiting) {
    self.context = context
    self.waiting = waiting
  }

  /// A connection has ended, with these in flight.
  func lost(_ connection: any PushConnection, _ orphans: [ReadyPush], reason: String) {
    guard !orphans.isEmpty else { return }
    if orphans.contains(where: { $0.history.losses == 0 }) {
      context.traffic.window.lost(openedAt: connection.openedAt, at: context.loop.now)
    }
    context.report(.lost(context.server, pushes: orphans.count, reason: reason))
    for push in orphans { lost(push) }
  }

  /// It was in flight when its connection was lost, or was never answered there.
  private func lost(_ push: ReadyPush) {
    var push = context.queue.back(push)
    guard !push.isAbandoned else { return }
    guard !waiting.isLeaving else {
      // We gave it up, which speaks against nothing; and it may have arrived.
      push.history.mayHaveArrived = true
      return waiting.postpone(push)
    }
    let (losses, verdict) = LossRule.judge(
      push.loss, losses: Int(push.history.losses),
      wereOthersAccepted: context.traffic.lastAcceptedAt > push.loss.lastAt)
    push.history.countLoss(all: losses)
    push.loss.lastAt = context.loop.now
    push.loss.isAlone = false
    switch verdict {
    case .probe: waiting.probe(push)
    case .backOff(let tries): waiting.scheduleRetry(push, tries: tries, atLeast: .zero)
    case .reject: push.settle(as: .rejected(.unanswered))
    }
  }

  /// A push was given up.
  /// - Parameter isWell: the connection answered others meanwhile, or showed that it lives.
  func gaveUp(_ push: ReadyPush, sentAt: UInt64, isWell: Bool) {
    guard !waiting.isLeaving, isWell else { return lost(push) }
    var push = context.queue.back(push)
    guard !push.isAbandoned else { return }
    // If nobody is answered, it is the server and not the push. A 429 is an answer, too.
    let isItsOwn = context.traffic.lastLookedAt > sentAt
    push.history.countSilence(suspicion: isItsOwn ? LossRule.silence : 0)
    guard push.history.suspicion < LossRule.mostSuspicion else {
      return push.settle(as: .rejected(.unanswered))
    }
    push.backOffs += 1
    waiting.scheduleRetry(push, tries: push.backOffs)
  }
}
