import EventLoop
import Model

/// Pushes that wait: for the end of a back-off, in a topic or route that is closed, for a probe
/// connection. All together `waitingPushes` at most.
final class RouteWaiting {
  /// What was in flight in a lost connection goes again in a moment, and would have to wait for its
  /// segment's end first, if it left. Nanoseconds.
  private static let probesStay: UInt64 = 10_000_000_000

  private let options: DeliverOptions
  private let loop: EventLoop
  private let chance: () -> UInt64
  private let topics: RouteTopics
  private let traffic: RouteTraffic
  private let obstacles: RouteObstacles
  private let signals: RouteSignals
  private var retries = DueHeap<ReadyPush>()
  private var probes = ProbeQueue()
  /// The worker stops: nothing waits here any more.
  private(set) var isLeaving = false

  init(
    _ setup: RouteSetup, topics: RouteTopics, traffic: RouteTraffic, obstacles: RouteObstacles,
    signals: RouteSignals
  ) {
    options = setup.options
    loop = setup.loop
    chance = setup.chance
    self.topics = topics
    self.traffic = traffic
    self.obstacles = obstacles
    self.signals = signals
  }

  var count: Int { retries.count + probes.count + topics.parkedCount }
  /// Room for those that are to wait besides.
  var room: Int { isLeaving ? 0 : max(0, options.waitingPushes - count) }

  /// From now on what would wait leaves its segment.
  func beginLeaving() { isLeaving = true }

  // MARK: coming

  /// The push is looked at again at `due`; a push that may not wait here leaves its segment.
  func wait(_ push: ReadyPush, until due: UInt64) {
    guard !push.isAbandoned else { return }
    guard room > 0 else { return postpone(push) }
    push.batch.setHistory(push.index, push.history)
    retries.insert(push, due: due)
    signals.schedulePump()
  }

  /// Waits out a back-off, or until the push's event expires.
  func waitOut(
    _ push: ReadyPush, tries: Int, notBefore: UInt64 = 0, atLeast: Duration? = nil
  ) {
    guard push.tally.fanOut.brake != .cancelled else { return push.settleOver() }
    let remaining = push.batch.headers.expiresAt - options.wallClock()
    let decision = options.retry.decide(
      tries: tries, remainingMilliseconds: remaining, atLeast: atLeast ?? .zero,
      chance: chance())
    switch decision {
    case .expire: push.settleOver()
    case .retry(let delay):
      var push = push
      push.askAgainAt = atLeast == nil ? 0 : options.wallClock() + delay.wholeMilliseconds
      let due = max(loop.now &+ delay.nanoseconds, notBefore)
      // Not beyond its expiry, also while nothing is sent: it gets its outcome then.
      let expiry = loop.now &+ Duration.milliseconds(remaining).nanoseconds
      wait(push, until: min(due, expiry))
    }
  }

  /// Puts a push where it will be sent from.
  func enqueue(_ push: ReadyPush) {
    guard !push.isAbandoned else { return }
    guard !isLeaving else { return postpone(push) }
    if push.history.losses > 0, !push.loss.goesInTurn { return probes.append(push) }
    topics.topic(named: push.topic).take(push)
  }

  /// Those whose back-off is over.
  func enqueueDue(at now: UInt64) {
    while let push = retries.popFirst(dueAt: now) { enqueue(push) }
  }

  /// When the first back-off is over.
  var nextDue: UInt64? { retries.nextDue }

  // MARK: probes

  var probeCount: Int { probes.count }
  var isNextProbeAlone: Bool { probes.isNextAlone }

  /// A push that was lost with its connection.
  func probe(_ push: ReadyPush) {
    guard !push.isAbandoned else { return }
    guard room > 0 else { return postpone(push) }
    var push = push
    if push.loss.lastAt == 0 { push.loss.lastAt = loop.now }
    push.batch.setHistory(push.index, push.history)
    probes.append(push)
    signals.schedulePump()
  }

  /// One that could not be sent.
  func putBack(probe push: ReadyPush) { probes.append(push) }

  /// The next that go together on a probe connection.
  func nextProbes(atMost limit: Int) -> [ReadyPush] { probes.next(atMost: limit) }

  /// No probe connection can be had: what waits for one goes as all others do.
  func sendProbesInTurn() {
    for var push in probes.take(where: { _ in true }) {
      push.loss.goesInTurn = true
      push.loss.isAlone = false
      waitOut(push, tries: Int(push.history.losses))
    }
  }

  // MARK: leaving

  func postpone(_ push: ReadyPush) {
    if let obstacle = obstacles.obstacle(for: push.topic) { push.tally.obstacle = "\(obstacle)" }
    push.batch.postpone(push.index, history: push.history, askAgainAt: push.askAgainAt)
  }

  /// Takes out every push of a segment that cannot be sent now, or not soon, as stragglers.
  func postponeWaiting(of tally: SegmentTally) {
    var waiting = retries.take { $0.tally === tally }
    for topic in topics.all where !topic.counts(tally) { waiting += topic.queue.take(of: tally) }
    let (now, mayStay) = (loop.now, topics.isOpen)
    waiting += probes.take {
      $0.tally === tally && !(mayStay && now &- $0.loss.lastAt < Self.probesStay)
    }
    for push in waiting { postpone(push) }
    signals.schedulePump()
  }

  /// Takes out every push of a segment that is not in flight, as stragglers.
  func postponeAll(of tally: SegmentTally) {
    for push in takeAll(of: tally) { postpone(push) }
    makeRoom()
  }

  /// Every push of a segment that is not in flight is over.
  func settleAll(of tally: SegmentTally) {
    for push in takeAll(of: tally) { push.settleOver() }
    makeRoom()
  }

  /// Takes out every push of a segment, without a word.
  func abandon(_ tally: SegmentTally) {
    _ = takeAll(of: tally)
    makeRoom()
  }

  /// Others may come in now.
  private func makeRoom() {
    signals.whenReadyMayHaveShrunk()
    signals.schedulePump()
  }

  private func takeAll(of tally: SegmentTally) -> [ReadyPush] {
    var all = retries.take { $0.tally === tally } + probes.take { $0.tally === tally }
    for topic in topics.all {
      let taken = topic.queue.take(of: tally)
      if topic.counts(tally) { tally.noLongerUnsent(taken.count(where: \.isFirst)) }
      all += taken
    }
    return all
  }

  /// What stands in the queues of a topic that has just been closed waits, and may be too much.
  func postponeExcess() {
    guard count > options.waitingPushes else { return }
    for topic in topics.all where !topic.isOpen {
      while count > options.waitingPushes, let push = topic.queue.removeAny() {
        postpone(push)
      }
    }
  }

  /// Events expire while no stream is free.
  func expire() {
    let wall = options.wallClock()
    for push in probes.take(where: { $0.batch.headers.expiresAt <= wall }) { push.settleOver() }
    for topic in topics.all {
      for push in topic.queue.takeExpired(at: wall) {
        topic.left(push)
        push.settleOver()
      }
    }
  }

  // MARK: segments

  /// Whether pushes of a segment are parked here until the route is open again.
  func parks(_ tally: SegmentTally) -> Bool {
    !topics.isOpen && topics.all.contains { $0.queue.contains(tally) }
  }

  /// Whether pushes of a segment wait out a back-off.
  func retries(_ tally: SegmentTally) -> Bool {
    topics.isOpen && retries.contains { $0.tally === tally }
  }
}
