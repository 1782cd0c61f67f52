import EventLoop
import Model
import Telemetry

/// The way of a lane's pushes to one destination. It joins the parts: pushes that can be sent are
/// in `FairQueue`, those that wait in `RouteWaiting`; `PushSender` and `ProbeSender` hand them out
/// to the connections of `ConnectionPool`; `AnswerJudge` and `LossJudge` judge those that come
/// back. Confined to its lane's loop.
final class Route {
  private let context: RouteContext
  private let loop: EventLoop
  private let credentials: RouteCredentials
  private let losses: LossJudge
  private let answers: AnswerJudge
  private let sender: PushSender
  private let probes: ProbeSender
  let queue: FairQueue
  let traffic: RouteTraffic
  let waiting: RouteWaiting
  let congestion: RouteCongestion
  let pool: ConnectionPool
  private var pumpTimer: LoopTimer?

  init(_ context: RouteContext) {
    self.context = context
    loop = context.loop
    queue = context.queue
    traffic = context.traffic
    congestion = RouteCongestion(context)
    waiting = RouteWaiting(context)
    credentials = RouteCredentials(context, waiting: waiting)
    losses = LossJudge(context, waiting: waiting)
    answers = AnswerJudge(context, waiting: waiting, credentials: credentials)
    pool = ConnectionPool(context, waiting: waiting, answers: answers, losses: losses)
    sender = PushSender(context, waiting: waiting)
    probes = ProbeSender(context, pool: pool, waiting: waiting, sender: sender)
    signals.pump = { [weak self] in self?.pump() }
    signals.whenOpennessMayHaveChanged = { [weak self] in self?.updateOpenness() }
  }

  var destination: Destination { context.destination }
  /// As `PushBatch.Entry.route` says it.
  var number: UInt16 { context.number }
  /// Batches that are on their way here.
  var expectedBatches = 0
  var isFirst: Bool { context.isFirst }
  var signals: RouteSignals { context.signals }

  func stop() {
    signals.stop()
    pumpTimer?.cancel()
    pool.stop()
  }

  /// Operators are told that nothing is in the way any more.
  func endObstacles() {
    context.obstacles.set(closure: nil, reason: "")
    context.obstacles.set(isSlow: false)
    for topic in queue.topics { context.obstacles.noLongerRefused(topic) }
  }

  // MARK: coming

  /// Whether a batch of a fan-out of this topic should wait.
  func isFull(for topic: String, of fanOut: FanOut) -> Bool {
    guard !waiting.isLeaving else { return false }
    return queue.isFull(for: topic, of: fanOut, readyPushes: context.options.readyPushes)
  }

  /// - Parameter surplusLeaves: the batch did not wait for capacity here; pushes that are too many
  ///   leave their segment.
  func append(_ batch: PushBatch, surplusLeaves: Bool = false) {
    let topic = queue.topic(named: batch.headers.topic)
    let capacity =
      if !topic.isOpen || waiting.isLeaving {
        waiting.capacity
      } else if surplusLeaves {
        max(0, context.options.readyPushes - queue.readyCount)
      } else {
        Int.max
      }
    let (taken, end) = topic.append(batch, atMost: capacity, at: loop.now)
    if taken < batch.entries.count { appendOthers(of: batch, from: end) }
    pool.start()
    signals.schedulePump()
  }

  /// Takes the rest of a batch: pushes that were lost before go on probe connections, and those
  /// that are too many leave their segment.
  private func appendOthers(of batch: PushBatch, from end: Int) {
    let entries = batch.entries
    for index in entries.indices where entries[index].route == number {
      let push = ReadyPush(batch: batch, index: index, history: entries[index].history)
      if push.history.losses > 0 {
        waiting.probe(push)
      } else if index >= end {
        waiting.postpone(push)
      }
    }
  }

  // MARK: handing out

  private func pump() {
    let now = loop.now
    if !waiting.isLeaving {
      queue.set(outliers: traffic.outliers)
      waiting.requeueDue(at: now)
      fill(now: now)
    }
    pool.slots.flush()
    if !queue.isOpen { updateOpenness() }
    if queue.topics.count > 1 { credentials.forget(at: now) }
    signals.whenReadyMayHaveShrunk()
    scheduleNextPump()
  }

  private func fill(now: UInt64) {
    guard waiting.probes.count > 0 || queue.hasPushes else { return }
    guard let credential = credentials.credential(now: now) else { return }
    traffic.apply(context.account.quota)
    pool.show(credential, at: now)
    pool.wakeResting()
    let round = PushSender.Round(
      now: now, wall: context.options.wallClock(), credential: credential)
    queue.outliers.fill(at: now)
    probes.fill(round)
    pool.slots.beginTurn()
    for offset in pool.slots.ordinary {
      if let connection = pool.slots.inTurn(offset) { sender.fill(connection, round) }
    }
    pool.replaceCut(at: now)
  }

  /// Pumps again when the first push that waits may go.
  private func scheduleNextPump() {
    pumpTimer?.cancel()
    pumpTimer = nil
    guard !waiting.isLeaving else { return }
    let now = loop.now
    var due = waiting.nextDue
    if let opensAt = queue.opensAt(after: now) { due = min(due ?? .max, opensAt) }
    if let opensAt = queue.outliers.opensAt(now) { due = min(due ?? .max, opensAt) }
    // Without a bound, as nearly always, nothing is counted.
    if let opensAt = traffic.overload.opensAt(now), queue.sendableCount(at: now) > 0 {
      due = min(due ?? .max, opensAt)
    }
    guard let due else { return }
    let delay = Duration.nanoseconds(Int64(clamping: due > now ? due - now : 0))
    pumpTimer = loop.schedule(after: delay) { [weak signals] in signals?.schedulePump() }
  }

  /// Every half second: streams without an answer, connections without a sign of life, events that
  /// expired while no stream was free, routes that take nothing.
  func tick() {
    let now = loop.now
    for connection in pool.slots.all { connection.tick(now: now) }
    traffic.forget(at: now)
    pool.closeIdle(now)
    pool.openMissing()
    waiting.expire()
    if queue.isOpen, queue.sendableCount(at: now) == 0 { traffic.rests(at: now) }
    updateOpenness()
    credentials.forget(at: now)
    signals.whenReadyMayHaveShrunk()
    // Whatever waits now waits for a connection.
    if waiting.probes.count > 0 || queue.hasPushes { pump() }
    pool.resize(at: now)
  }

  /// Opens or closes the route; called whenever its obstacles may have changed.
  private func updateOpenness() {
    let now = loop.now
    let facts = RouteOpenness.Facts(
      openConnections: pool.slots.openCount, takes: pool.slots.takes,
      hasSendablePushes: queue.sendableCount(at: now) > 0, hasPushes: !isUnused,
      lastMovedAt: traffic.lastMovedAt,
      lastSentAt: traffic.lastSentAt, lastAnsweredAt: traffic.lastAnsweredAt,
      unanswered: traffic.unanswered)
    let closure = context.openness.closure(facts, at: now)
    queue.set(
      isOpen: closure == nil, closedAfter: context.options.closedAfter.nanoseconds, at: now)
    context.obstacles.set(closure: closure, reason: context.openness.reason)
    waiting.postponeExcess()
    signals.whenReadyMayHaveShrunk()
  }

  // MARK: stopping

  /// Sends nothing more: pushes that come or would wait leave their segment. Those in flight may
  /// still be answered.
  func leave() {
    waiting.isLeaving = true
    signals.whenReadyMayHaveShrunk()
  }

  // MARK: state

  var figures: PlatformFigures {
    var figures = answers.figures
    figures.inFlight = pool.slots.inFlight
    figures.openConnections = pool.slots.openCount
    figures.streamLimit = pool.slots.streamLimit
    figures.connectionCounts = pool.slots.counts
    return figures
  }

  /// No push is here, and none is on its way.
  var isUnused: Bool {
    expectedBatches == 0 && !queue.hasPushes && waiting.count == 0 && pool.slots.inFlight == 0
  }

  /// A connection is, or was, open.
  var hasOpened: Bool { pool.slots.counts.opened > 0 }

  /// The last attempt to connect came to nothing.
  var cannotConnect: Bool { context.openness.cannotConnect }

  var obstacles: [RouteObstacle] { context.obstacles.all }

  func isClosed(for topic: String) -> Bool { !queue.isOpen || queue.find(topic)?.isOpen == false }
}
