import EventLoop
import Model

/// Pushes that wait: for the end of a back-off, in a topic or route that is closed, for the
/// suspects' connection. All together `waitingPushes` at most.
final class RouteWaiting {
  /// What was in flight in a lost connection goes again in a moment, and would have to wait for its
  /// segment's end first, if it left. Nanoseconds.
  private static let suspectsStay: UInt64 = 10_000_000_000

  private let options: DeliverOptions
  private let loop: EventLoop
  private let chance: () -> UInt64
  private let topics: RouteTopics
  private let traffic: RouteTraffic
  private let obstacles: RouteObstacles
  private let signals: RouteSignals
  private var retries = RetryQueue()
  private var suspects = SuspectQueue()
  private var silence = SilentQueue()
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

  var count: Int { retries.count + suspects.count + silence.count + topics.parkedCount }
  /// Room for those that are to wait besides.
  var room: Int { isLeaving ? 0 : max(0, options.waitingPushes - count) }

  /// Half of the room is free: nothing need be sent to make some.
  var hasRoomToSpare: Bool { room > options.waitingPushes / 2 }

  /// From now on what would wait leaves its segment.
  func beginLeaving() { isLeaving = true }

  // MARK: coming

  /// The push is looked at again at `due`; a push that may not wait here leaves its segment.
  func wait(_ push: ReadyPush, until due: UInt64) {
    guard !push.isAbandoned else { return }
    guard room > 0 else { return postpone(push) }
    push.batch.setHistory(push.index, push.history)
    retries.append(push, due: due)
    signals.schedulePump()
  }

  /// A push of a fan-out whose further tries are bounded.
  func hold(_ push: ReadyPush) {
    if push.isAnotherTry { wait(push, until: loop.now) } else { enqueue(push) }
  }

  /// Waits out a back-off, or until the push's event expires.
  func waitOut(
    _ push: ReadyPush, tries: Int, notBefore: UInt64 = 0, atLeast: Duration? = nil,
    atMost: Duration? = nil
  ) {
    guard push.tally.fanOut.brake != .cancelled else { return push.settleOver() }
    let remaining = push.batch.headers.expiresAt - options.wallClock()
    let decision = options.retry.decide(
      tries: tries, remainingMilliseconds: remaining, atLeast: atLeast ?? .zero,
      chance: chance())
    switch decision {
    case .expire: push.settleOver()
    case .retry(var delay):
      var push = push
      if let atMost { delay = min(delay, atMost) }
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
    if push.loss.isSilent { return silence.append(push) }
    if push.history.losses > 0 { return suspects.append([push]) }
    topics.topic(named: push.topic).take(push)
  }

  /// Those whose back-off is over, as many of each fan-out as may stand in its queue: the others
  /// can still leave their segments.
  func enqueueDue(at now: UInt64) {
    while let push = retries.popDue(at: now, mayGo: { mayReturn($0, at: now) }) {
      traffic.triesAgain(push.tally.fanOut)
      enqueue(push)
    }
  }

  /// Called now and then: how many fan-outs wait for further tries that are bounded.
  func countHeld() {
    traffic.heldFanOuts = retries.heldFanOuts { traffic.failsByItself($0) }
  }

  /// Whether some of those would come back now.
  func hasDue(at now: UInt64) -> Bool { retries.hasHeld { mayReturn($0, at: now) } }

  private func mayReturn(_ push: ReadyPush, at now: UInt64) -> Bool {
    guard push.history.losses == 0, !push.isAbandoned, !isLeaving,
      let topic = topics.find(push.topic)
    else { return true }
    let fanOut = push.tally.fanOut
    // What is closed parks it, and lets it leave from there.
    return !topic.isOpen
      || topic.queue.returned(of: fanOut) < traffic.returnedPushes
        && traffic.mayTryAgain(fanOut, at: now)
  }

  /// When the first back-off is over, or one may come back that was held here.
  func nextDue(after now: UInt64) -> UInt64? {
    guard retries.hasHeld({ traffic.failsByItself($0.tally.fanOut) }),
      let opensAt = traffic.triesAgainAt(now)
    else { return retries.nextDue }
    return min(opensAt, retries.nextDue ?? .max)
  }

  // MARK: suspects

  /// Those that may be why a connection was lost, and those that were never answered.
  var suspectCount: Int { suspects.count + silence.readyCount }
  /// Those that wait for a connection with them.
  var silentCount: Int { silence.readyCount }
  var suspectGroups: Int { suspects.groupCount }

  /// Pushes that were lost together: one of them may be why.
  func suspect(_ lost: [ReadyPush]) {
    let wanted = lost.filter { !$0.isAbandoned }
    let room = room
    for push in wanted.dropFirst(room) { postpone(push) }
    let now = loop.now
    suspects.append(
      wanted.prefix(room).map { push in
        var push = push
        push.loss.came(at: now)
        push.batch.setHistory(push.index, push.history)
        return push
      })
    signals.schedulePump()
  }

  /// A push that was never answered, in a connection that was well.
  func silent(_ push: ReadyPush) {
    guard room > 0 else { return postpone(push) }
    push.batch.setHistory(push.index, push.history)
    silence.append(push)
    signals.schedulePump()
  }

  /// One that could not be sent stays a suspect.
  func putBack(suspect push: ReadyPush) {
    if push.loss.isSilent { silence.append(push) } else { suspects.append([push]) }
  }

  /// The next that were never answered; they go together.
  func nextSilent(atMost limit: Int) -> [ReadyPush] { silence.next(atMost: limit) }

  /// The next suspect, if it was lost alone before.
  var nextLikely: ReadyPush? { suspects.nextLikely }

  /// The next suspects that go together; empty when none wait.
  func nextSuspects(atMost limit: Int) -> [ReadyPush] { suspects.nextGroup(atMost: limit) }

  // MARK: leaving

  func postpone(_ push: ReadyPush) {
    if let obstacle = obstacles.obstacle(for: push.topic) { push.tally.obstacle = "\(obstacle)" }
    push.batch.postpone(push.index, history: push.history, askAgainAt: push.askAgainAt)
  }

  /// Takes out every push of a segment that cannot be sent now, or not soon, as stragglers.
  func postponeWaiting(of tally: SegmentTally) {
    var waiting = retries.take(of: tally)
    for topic in topics.all where !topic.counts(tally) { waiting += topic.queue.take(of: tally) }
    waiting += silence.take { $0.tally === tally }
    let now = loop.now
    let mayStay = topics.isOpen
    waiting += suspects.take {
      $0.tally === tally && !(mayStay && now &- $0.loss.lastAt < Self.suspectsStay)
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

  /// Others of the fan-out may be held only because these stood in its queue, and then no timer
  /// brings them back.
  private func makeRoom() {
    signals.whenReadyMayHaveShrunk()
    signals.schedulePump()
  }

  private func takeSuspects(of tally: SegmentTally) -> [ReadyPush] {
    suspects.take { $0.tally === tally } + silence.take { $0.tally === tally }
  }

  private func takeAll(of tally: SegmentTally) -> [ReadyPush] {
    var all = retries.take(of: tally) + takeSuspects(of: tally)
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
      while count > options.waitingPushes, let push = topic.queue.next() { postpone(push) }
    }
  }

  /// Events expire while no stream is free.
  func expire() {
    let wall = options.wallClock()
    for push in suspects.takeExpired(at: wall) { push.settleOver() }
    for push in retries.takeExpired(at: wall) { push.settleOver() }
    for push in silence.take(where: { $0.batch.headers.expiresAt <= wall }) { push.settleOver() }
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
  func retries(_ tally: SegmentTally) -> Bool { topics.isOpen && retries.contains(tally) }
}
