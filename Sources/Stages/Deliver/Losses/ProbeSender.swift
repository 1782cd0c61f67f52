import EventLoop
import Model

/// Sends what waits in the `ProbeQueue`: a group at a time on each probe connection, so that
/// ordinary traffic is disturbed once by a push for which a server closes connections.
final class ProbeSender {
  /// Without a probe connection for so long, as where a server or something before it admits no
  /// further connection, what waits for one goes in ordinary traffic. Nanoseconds.
  private let missingLimit: UInt64
  private let pool: ConnectionPool
  private let queue: FairQueue
  private let waiting: RouteWaiting
  private let sender: PushSender
  /// Since when there has been no probe connection for what waits; nil while there is one, or none
  /// is wanted.
  private var missingSince: UInt64?

  init(
    _ context: RouteContext, pool: ConnectionPool, waiting: RouteWaiting, sender: PushSender
  ) {
    missingLimit = context.options.stalledAfter.nanoseconds
    queue = context.queue
    self.pool = pool
    self.waiting = waiting
    self.sender = sender
  }

  func fill(_ round: PushSender.Round) {
    guard waiting.probes.count > 0 else {
      missingSince = nil
      return
    }
    // One connection finds out about a single loss; when many are lost, all do.
    pool.openProbes(1 + waiting.probes.count / ProbeQueue.most)
    let connections = pool.slots.probes.compactMap { pool.slots[$0].connection }
    for connection in connections { sendGroup(on: connection, round) }
    let isMissing = pool.slots.openCount > 0 && !connections.contains { $0.phase == .open }
    let since = missingSince ?? round.now
    missingSince = isMissing ? since : nil
    guard isMissing, round.now &- since >= missingLimit else { return }
    missingSince = nil
    waiting.sendProbesInTurn()
  }

  private func sendGroup(on connection: any PushConnection, _ round: PushSender.Round) {
    guard waiting.probes.count > 0, connection.inFlight == 0, connection.capacity > 0,
      connection.isAlive(at: round.now)
    else { return }
    // A connection that has carried others may be about to be closed for their sake.
    guard connection.isFresh || !waiting.probes.isNextAlone else {
      return connection.retire("a push that was lost before goes alone on a new connection")
    }
    let isFresh = connection.isFresh
    let group = waiting.probes.next(atMost: connection.capacity)
    for var push in group {
      push.loss.isAlone = isFresh && group.count == 1
      send(push, on: connection, round)
    }
  }

  private func send(
    _ push: ReadyPush, on connection: any PushConnection, _ round: PushSender.Round
  ) {
    let topic = queue.topic(named: push.topic)
    guard sender.mayGo(push, round) else { return sender.withhold(push, round) }
    guard topic.gate.allows(at: round.now, hasUntried: push.history.refusals == 0) else {
      // One that was never refused may ask sooner than a hold ends.
      let opensAt = push.history.refusals > 0 ? topic.gate.opensAt ?? 0 : 0
      return waiting.park(push, until: max(opensAt, round.now &+ Evidence.askAgainAfter))
    }
    guard connection.capacity > 0 else { return waiting.probes.append(push) }
    // It never stood in the topic's queue, so that `unsent` does not count it.
    var probe = push
    probe.isFirst = false
    if sender.dispatch(ReadyRun(probe), of: topic, on: connection, round) == 0 {
      waiting.probes.append(push)
    }
  }
}
