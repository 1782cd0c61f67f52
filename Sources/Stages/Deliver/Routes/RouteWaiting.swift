import EventLoop
import Model

/// Pushes that wait: for the end of a back-off, in a topic or route that is closed, for a probe
/// connection. All together `waitingPushes` at most.
final class RouteWaiting {
  private let context: RouteContext
  private var retries = DueHeap<ReadyPush>()
  /// Pushes that were lost with their connection.
  var probes = ProbeQueue()
  /// The worker stops: nothing waits here any more, and what would wait leaves its segment.
  var isLeaving = false

  init(_ context: RouteContext) { self.context = context }

  var count: Int { retries.count + probes.count + context.queue.parkedCount }
  /// Pushes that may wait besides.
  var capacity: Int { isLeaving ? 0 : max(0, context.options.waitingPushes - count) }

  // MARK: coming

  /// The push is queued again at `due`; a push that may not wait here leaves its segment.
  func park(_ push: ReadyPush, until due: UInt64) {
    guard !push.isAbandoned else { return }
    guard capacity > 0 else { return postpone(push) }
    push.batch.setHistory(push.index, push.history)
    retries.insert(push, due: due)
    context.signals.schedulePump()
  }

  /// The push is sent again after a back-off, or gets its outcome when its event expires.
  func scheduleRetry(
    _ push: ReadyPush, tries: Int, notBefore: UInt64 = 0, atLeast: Duration? = nil
  ) {
    guard push.tally.fanOut.halt != .cancelled else { return push.settleExpiredOrCancelled() }
    let remaining = push.batch.headers.expiresAt - context.options.wallClock()
    let delay = context.options.retry.delay(
      tries: tries, remainingMilliseconds: remaining, atLeast: atLeast ?? .zero,
      chance: context.chance())
    guard let delay else { return push.settleExpiredOrCancelled() }
    var push = push
    push.askAgainAt = atLeast == nil ? 0 : context.options.wallClock() + delay.wholeMilliseconds
    let due = max(context.loop.now &+ delay.nanoseconds, notBefore)
    // Not beyond its expiry, also while nothing is sent: it gets its outcome then.
    let expiry = context.loop.now &+ Duration.milliseconds(remaining).nanoseconds
    park(push, until: min(due, expiry))
  }

  /// Puts a push where it will be sent from.
  func requeue(_ push: ReadyPush) {
    guard !push.isAbandoned else { return }
    guard !isLeaving else { return postpone(push) }
    if push.history.losses > 0, !push.loss.goesInTurn { return probes.append(push) }
    context.queue.topic(named: push.topic).append(push)
  }

  func requeueDue(at now: UInt64) {
    while let push = retries.popFirst(dueAt: now) { requeue(push) }
  }

  /// When the first back-off is over.
  var nextDue: UInt64? { retries.nextDue }

  // MARK: probes

  /// A push that was lost with its connection.
  func probe(_ push: ReadyPush) {
    guard !push.isAbandoned else { return }
    guard capacity > 0 else { return postpone(push) }
    var push = push
    if push.loss.lastAt == 0 { push.loss.lastAt = context.loop.now }
    push.batch.setHistory(push.index, push.history)
    probes.append(push)
    context.signals.schedulePump()
  }

  /// No probe connection can be had: what waits for one goes as all others do.
  func sendProbesInTurn() {
    for var push in probes.take(where: { _ in true }) {
      push.loss.goesInTurn = true
      push.loss.isAlone = false
      scheduleRetry(push, tries: Int(push.history.losses))
    }
  }

  // MARK: leaving

  /// The push leaves its segment as a straggler.
  func postpone(_ push: ReadyPush) {
    if let obstacle = context.obstacles.obstacle(for: push.topic) {
      push.tally.obstacle = "\(obstacle)"
    }
    push.batch.postpone(push.index, history: push.history, askAgainAt: push.askAgainAt)
  }

  /// Takes out every push of a segment that cannot be sent now, or not soon, as stragglers.
  func postponeWaiting(of tally: SegmentTally) {
    var waiting = retries.take { $0.tally === tally }
    for topic in context.queue.topics where !topic.counts(tally) {
      waiting += topic.take(of: tally)
    }
    // Pushes that were lost with a connection are sent again in a moment. If they left, they would
    // have to wait for their segment's end first.
    let (now, mayStay) = (context.loop.now, context.queue.isOpen)
    waiting += probes.take {
      $0.tally === tally && !(mayStay && now &- $0.loss.lastAt < Evidence.briefMemory)
    }
    for push in waiting { postpone(push) }
    context.signals.schedulePump()
  }

  /// Takes out every push of a segment that is not in flight.
  func takeAll(of tally: SegmentTally, then end: (ReadyPush) -> Void) {
    var all = retries.take { $0.tally === tally } + probes.take { $0.tally === tally }
    for topic in context.queue.topics {
      let taken = topic.take(of: tally)
      if topic.counts(tally) { tally.noLongerUnsent(taken.count(where: \.isFirst)) }
      all += taken
    }
    for push in all { end(push) }
    // Others may be admitted now.
    context.signals.whenReadyMayHaveShrunk()
    context.signals.schedulePump()
  }

  /// Pushes of a topic that has just been closed wait from now on, and may be too many.
  func postponeExcess() {
    guard count > context.options.waitingPushes else { return }
    for topic in context.queue.topics where !topic.isOpen {
      while count > context.options.waitingPushes, let push = topic.removeAny() {
        postpone(push)
      }
    }
  }

  /// Events expire while no stream is free.
  func expire() {
    let wall = context.options.wallClock()
    for push in probes.take(where: { $0.batch.headers.expiresAt <= wall }) {
      push.settleExpiredOrCancelled()
    }
    for topic in context.queue.topics {
      for push in topic.takeExpired(at: wall) {
        topic.left(push)
        push.settleExpiredOrCancelled()
      }
    }
  }

  // MARK: segments

  /// Whether pushes of a segment are parked here until the route is open again.
  func parks(_ tally: SegmentTally) -> Bool {
    !context.queue.isOpen && context.queue.topics.contains { $0.contains(tally) }
  }

  /// Whether pushes of a segment wait out a back-off.
  func retries(_ tally: SegmentTally) -> Bool {
    context.queue.isOpen && retries.contains { $0.tally === tally }
  }
}
