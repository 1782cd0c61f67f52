import EventLoop
import Model
import Telemetry

/// The way of a lane's pushes to one destination. It joins the parts, which hold what
/// is known: what is ready stands in `RouteTopics`, what waits in `RouteWaiting`; `PushSender` and
/// `ProbeSender` hand it out to the connections of `ConnectionPool`; what comes back is judged by
/// `AnswerJudge` and `LossJudge`. Confined to its lane's loop.
final class Route {
  let destination: Destination
  let isFirst: Bool
  private let options: DeliverOptions
  private let loop: EventLoop
  private let signals: RouteSignals
  private let obstacleList: RouteObstacles
  private let openness: RouteOpenness
  private let slowness: RouteSlowness
  private let waiting: RouteWaiting
  private let credentials: RouteCredentials
  private let losses: LossJudge
  private let answers: AnswerJudge
  private let sender: PushSender
  private let probes: ProbeSender
  let topics: RouteTopics
  let traffic: RouteTraffic
  let pool: ConnectionPool
  private var pumpTimer: LoopTimer?

  /// Called when pushes may have left the queues, or need no longer be waited for.
  var whenReadyMayHaveShrunk: () -> Void {
    get { signals.whenReadyMayHaveShrunk }
    set { signals.whenReadyMayHaveShrunk = newValue }
  }

  init(_ setup: RouteSetup) {
    destination = setup.destination
    isFirst = setup.isFirst
    options = setup.options
    loop = setup.loop
    signals = RouteSignals(loop: setup.loop)
    topics = RouteTopics(destination: setup.destination)
    traffic = RouteTraffic(streamsPerConnection: setup.options.streamsPerConnection)
    openness = RouteOpenness(
      closedAfter: setup.options.closedAfter.nanoseconds,
      stalledAfter: (setup.options.stalledAfter + setup.silence).nanoseconds,
      silentAfter: (setup.options.requestTimeout + setup.silence).nanoseconds)
    obstacleList = RouteObstacles(
      destination: destination, credentials: setup.credentialsName, options: options,
      topics: topics)
    slowness = RouteSlowness(setup, topics: topics, obstacles: obstacleList)
    waiting = RouteWaiting(
      setup, topics: topics, traffic: traffic, obstacles: obstacleList, signals: signals)
    credentials = RouteCredentials(
      setup, topics: topics, obstacles: obstacleList, openness: openness, waiting: waiting,
      signals: signals)
    losses = LossJudge(setup, topics: topics, traffic: traffic, waiting: waiting)
    answers = AnswerJudge(
      setup, topics: topics, traffic: traffic, waiting: waiting, credentials: credentials,
      losses: losses, signals: signals)
    pool = ConnectionPool(
      setup, topics: topics, traffic: traffic, waiting: waiting, openness: openness,
      answers: answers, losses: losses, signals: signals)
    sender = PushSender(
      setup, topics: topics, traffic: traffic, slowness: slowness, waiting: waiting)
    probes = ProbeSender(pool: pool, topics: topics, waiting: waiting, sender: sender)
    signals.pump = { [weak self] in self?.pump() }
    signals.whenOpennessMayHaveChanged = { [weak self] in self?.updateOpenness() }
  }

  func start() { pool.start() }

  func stop() {
    signals.stop()
    pumpTimer?.cancel()
    pool.stop()
  }

  // MARK: coming

  /// Whether a batch of a fan-out of this topic should wait for room.
  func isFull(for topic: String, of fanOut: FanOut) -> Bool {
    guard !waiting.isLeaving else { return false }
    return topics.isFull(for: topic, of: fanOut, readyPushes: options.readyPushes)
  }

  /// - Parameter surplusLeaves: nobody waited for room here; what there is none for leaves its
  ///   segment.
  func append(_ batch: PushBatch, surplusLeaves: Bool = false) {
    let topic = topics.topic(named: batch.headers.topic)
    let room =
      if !topic.isOpen || waiting.isLeaving {
        waiting.room
      } else if surplusLeaves {
        max(0, options.readyPushes - topics.readyCount)
      } else {
        Int.max
      }
    let now = loop.now
    slowness.appended(at: now)
    let (taken, end) = topic.queue.append(batch, atMost: room, at: now)
    if topic.counts(batch.tally) { batch.tally.willSend(taken) }
    if taken < batch.entries.count { appendOthers(of: batch, from: end) }
    start()
    signals.schedulePump()
  }

  /// Takes the rest of a batch: pushes that were lost before go on probe connections, and those for
  /// which there is no room leave their segment.
  private func appendOthers(of batch: PushBatch, from end: Int) {
    let entries = batch.entries
    for index in entries.indices where entries[index].destination == destination {
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
      topics.set(stuck: traffic.stuck)
      waiting.enqueueDue(at: now)
      fill(now: now)
    }
    pool.places.flush()
    if !topics.isOpen { updateOpenness() }
    if topics.all.count > 1 { credentials.forget(at: now) }
    signals.whenReadyMayHaveShrunk()
    scheduleNextPump()
  }

  private func fill(now: UInt64) {
    guard waiting.probeCount > 0 || topics.hasPushes else { return }
    guard let credential = credentials.credential(now: now) else { return }
    pool.show(credential, at: now)
    pool.wakeResting()
    let round = PushSender.Round(now: now, wall: options.wallClock(), credential: credential)
    topics.stuck.earn(at: now)
    probes.fill(round)
    pool.beginTurn()
    for offset in pool.places.ordinary {
      if let connection = pool.places.inTurn(offset) {
        sender.fill(connection, round)
      }
    }
    pool.replaceCut(at: now)
  }

  /// Something of what waits may go then.
  private func scheduleNextPump() {
    pumpTimer?.cancel()
    pumpTimer = nil
    guard !waiting.isLeaving else { return }
    let now = loop.now
    var due = waiting.nextDue
    if let opensAt = topics.opensAt(after: now) { due = min(due ?? .max, opensAt) }
    if let opensAt = topics.stuck.opensAt(now) { due = min(due ?? .max, opensAt) }
    // Without a bound, as nearly always, nothing is counted.
    if let opensAt = traffic.overload.opensAt(now), topics.sendableCount(at: now) > 0 {
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
    for connection in pool.places.all { connection.tick(now: now) }
    if credentials.isWatching { credentials.askElsewhere(than: pool.places.all, at: now) }
    traffic.forget(at: now)
    losses.report()
    pool.closeIdle(now)
    pool.openDue()
    waiting.expire()
    if topics.isOpen, topics.sendableCount(at: now) == 0 { traffic.rests(at: now) }
    updateOpenness()
    credentials.forget(at: now)
    signals.whenReadyMayHaveShrunk()
    // What waits now waits for a connection.
    if waiting.probeCount > 0 || topics.hasPushes { pump() }
    pool.resize(at: now)
  }

  /// Looks at what stands in the way; called whenever that may have changed.
  private func updateOpenness() {
    let now = loop.now
    let facts = RouteOpenness.Facts(
      openConnections: pool.places.openCount, takes: pool.places.takes,
      hasSendablePushes: topics.sendableCount(at: now) > 0, lastMovedAt: traffic.lastMovedAt,
      lastSentAt: traffic.lastSentAt, lastAnsweredAt: traffic.lastAnsweredAt,
      unanswered: (traffic.sentUnanswered, traffic.unansweredSince))
    let closure = openness.closure(facts, at: now)
    topics.set(isOpen: closure == nil, closedAfter: options.closedAfter.nanoseconds, at: now)
    obstacleList.set(closure: closure, reason: openness.lastFailure)
    waiting.postponeExcess()
    signals.whenReadyMayHaveShrunk()
  }

  // MARK: slowness

  func lookAtCongestion(_ now: UInt64) {
    slowness.look(isConnected: pool.places.openCount > 0, at: now)
  }

  var isSlow: Bool { slowness.isSlow }
  var isLagging: Bool { slowness.isLagging }
  var wasLagging: Bool { slowness.wasLagging }
  var isHoldingUp: Bool { slowness.isHoldingUp }
  var yields: Bool { slowness.yields }

  /// Whether a fan-out gets nowhere here, whatever becomes of others.
  func isStuck(_ fanOut: FanOut) -> Bool { topics.stuck.contains(fanOut) }

  func isInUse(at now: UInt64) -> Bool { slowness.isInUse(at: now) }

  func set(lags: Bool, yields: Bool) {
    if slowness.set(lags: lags, yields: yields) { signals.whenReadyMayHaveShrunk() }
  }

  /// Limits may let more go.
  func limitsLetGo() { signals.schedulePump() }

  // MARK: a segment's end

  func postponeWaiting(of tally: SegmentTally) { waiting.postponeWaiting(of: tally) }
  func postponeAll(of tally: SegmentTally) { waiting.postponeAll(of: tally) }
  func settleAll(of tally: SegmentTally) { waiting.settleAll(of: tally) }
  func abandon(_ tally: SegmentTally) { waiting.abandon(tally) }
  func parks(_ tally: SegmentTally) -> Bool { waiting.parks(tally) }
  func retries(_ tally: SegmentTally) -> Bool { waiting.retries(tally) }

  /// Sends nothing more: what comes or would wait leaves its segment. What is in flight may still
  /// be answered.
  func leave() {
    waiting.beginLeaving()
    signals.whenReadyMayHaveShrunk()
  }

  /// What is in flight leaves too: its connections are closed.
  func leaveInFlight() { pool.leaveInFlight() }

  // MARK: what others see

  var isOpen: Bool { topics.isOpen }
  var readyCount: Int { topics.readyCount }
  var figures: PlatformFigures {
    var figures = PlatformFigures()
    figures.inFlight = pool.places.inFlight
    figures.openConnections = pool.places.openCount
    figures.streamLimit = pool.places.streamLimit
    figures.answerTimes = answers.answerTimes
    figures.connectionCounts = pool.places.counts
    figures.answerCounts = answers.answerCounts
    figures.unknownAnswers = answers.unknownAnswers
    return figures
  }

  var obstacles: [RouteObstacle] { obstacleList.all }

  func isClosed(for topic: String) -> Bool {
    !topics.isOpen || topics.find(topic)?.isOpen == false
  }
}
