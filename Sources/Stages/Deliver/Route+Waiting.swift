import EventLoop
import Model

/// Pushes that wait: for the end of a back-off, in a topic or route that is closed, for the
/// suspects' connection. All together `waitingPushes` at most.
extension Route {
  var waitingCount: Int {
    let parked = topics.reduce(0) { $0 + ($1.isOpen ? 0 : $1.queue.count) }
    return retries.count + suspects.count + parked
  }

  /// The push is looked at again at `due`; a push that may not wait here leaves its segment.
  func wait(_ push: ReadyPush, until due: UInt64) {
    guard !push.isAbandoned else { return }
    guard waitingCount < options.waitingPushes else { return postpone(push) }
    retries.append(push, due: due)
    schedulePump()
  }

  /// Puts a push where it will be sent from.
  func enqueue(_ push: ReadyPush) {
    guard !push.isAbandoned else { return }
    if push.history.losses > 0 { return suspects.append([push]) }
    topic(named: push.topic).take(push)
  }

  /// Pushes that were lost together: one of them may be why.
  func suspect(_ lost: [ReadyPush]) {
    let wanted = lost.filter { !$0.isAbandoned }
    let room = max(0, options.waitingPushes - waitingCount)
    for push in wanted.dropFirst(room) { postpone(push) }
    let now = loop.now
    suspects.append(
      wanted.prefix(room).map { push in
        var push = push
        push.loss.came(at: now)
        return push
      })
    schedulePump()
  }

  func postpone(_ push: ReadyPush) {
    if let obstacle = obstacle(for: push.topic) { push.tally.obstacle = "\(obstacle)" }
    push.batch.postpone(push.index, history: push.history, askAgainAt: push.askAgainAt)
  }

  /// Takes out every push of a segment that cannot be sent now, or not soon, as stragglers.
  func postponeWaiting(of tally: SegmentTally) {
    var waiting = retries.take(of: tally)
    for topic in topics where !topic.counts(tally) { waiting += topic.queue.take(of: tally) }
    waiting += suspects.take(of: tally)
    for push in waiting { postpone(push) }
  }

  /// Takes out every push of a segment that is not in flight, as stragglers.
  func postponeAll(of tally: SegmentTally) {
    for push in takeAll(of: tally) { postpone(push) }
    whenReadyMayHaveShrunk()
  }

  /// What is in flight leaves as stragglers: its connections are closed.
  func leaveInFlight() {
    isLeaving = true
    for connection in places.compactMap(\.connection) + retiring where connection.inFlight > 0 {
      connection.close(.silent, "no answer, and the worker stops")
    }
  }

  /// Whether pushes of a segment are parked here until the route is open again.
  func parks(_ tally: SegmentTally) -> Bool {
    !isOpen && topics.contains { $0.queue.contains(tally) }
  }

  /// Whether pushes of a segment wait out a back-off.
  func retries(_ tally: SegmentTally) -> Bool { isOpen && retries.contains(tally) }

  /// Takes out every push of a segment, without a word.
  func abandon(_ tally: SegmentTally) {
    _ = takeAll(of: tally)
    whenReadyMayHaveShrunk()
  }

  private func takeAll(of tally: SegmentTally) -> [ReadyPush] {
    var all = retries.take(of: tally) + suspects.take(of: tally)
    for topic in topics {
      let taken = topic.queue.take(of: tally)
      if topic.counts(tally) { tally.noLongerUnsent(taken.count(where: \.isFirst)) }
      all += taken
    }
    return all
  }

  /// What stands in the queues of a topic that has just been closed waits, and may be too much.
  func postponeExcess() {
    for topic in topics where !topic.isOpen {
      while waitingCount > options.waitingPushes, let push = topic.queue.next() { postpone(push) }
    }
  }

  func expireReady() {
    let wall = options.wallClock()
    for push in suspects.takeExpired(at: wall) { push.settleExpired() }
    for topic in topics {
      for push in topic.queue.takeExpired(at: wall) {
        topic.left(push)
        push.settleExpired()
      }
    }
  }

  func scheduleRetries() {
    retryTimer?.cancel()
    retryTimer = nil
    var due = retries.nextDue
    for topic in topics where topic.queue.count > 0 {
      if let opensAt = topic.gate.opensAt, opensAt > loop.now { due = min(due ?? .max, opensAt) }
    }
    // Without a bound, as nearly always, nothing is counted.
    if let opensAt = overload.opensAt(loop.now), sendableCount(at: loop.now) > 0 {
      due = min(due ?? .max, opensAt)
    }
    guard let due else { return }
    let delay = Duration.nanoseconds(Int64(clamping: due > loop.now ? due - loop.now : 0))
    retryTimer = loop.schedule(after: delay) { [weak self] in self?.schedulePump() }
  }
}
