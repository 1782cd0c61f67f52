import EventLoop
import Model

/// The way of a lane's pushes to one of Apple's environments. What is ready stands in a queue for
/// each topic, and topics take turns; here it is handed out. It comes in by Route+TakingIn; what
/// becomes of it is judged in Route+Answers; what waits is in Route+Waiting, the connections in
/// Route+Connections and Route+Helpers, whether pushes can be sent at all in Route+Obstacles.
/// Confined to its lane's loop.
final class Route {
  let environment: APNsEnvironment
  let target: APNsRoute
  let options: DeliverOptions
  let loop: EventLoop
  let tokens: ProviderTokenSource
  var random: any RandomNumberGenerator

  var topics: [TopicQueue] = []
  private var turn = 0
  private var leftOfTurn = 0
  /// Topics take turns by so many pushes: a change of topic costs a change of headers.
  private static let pushesPerTurn = 32
  /// Topics that are remembered though nothing of theirs is here.
  private static let maximumIdleTopics = 256
  /// A topic's credentials were refused lately.
  var isWatching = false

  var congestion = Congestion()
  /// When it was looked at last and had no connection.
  var lastUnableAt: UInt64 = 0
  /// It lags behind others that are in use: segments keep no places for it.
  var lags = false
  /// It is slow, and others go on: those that go there do not wait for it.
  var yields = false
  /// Shown to operators while it yields.
  var slowness: RouteObstacle?
  /// When a batch for it came last; 0 when none has.
  var lastAppendedAt: UInt64 = 0

  var retries = RetryQueue()
  var retryTimer: LoopTimer?
  var suspects = SuspectQueue()
  var window = LossWindow()
  var overload = Overload()
  var refusalShare = RefusalShare()
  var losses = LossCount()
  var lossLog = LossLog()

  /// Behind the ordinary ones those of the helpers.
  var places: [ConnectionPlace]
  /// GOAWAY or our own wish took them out; they live until what is in flight is answered.
  var retiring: [APNsConnection] = []
  var budget = ConnectBudget()
  private var nextPlace = 0
  var isStarted = false
  private(set) var isStopped = false
  /// The worker stops, and nothing more is waited for.
  var isLeaving = false

  /// Pushes can be sent: admission waits for room, and `SegmentTally.unsent` counts.
  var isOpen = true
  var obstacle: RouteObstacle?
  /// Monotonic nanoseconds since when no connection has been open; nil while one is, or none is
  /// wanted.
  var unconnectedSince: UInt64?
  /// The last attempt to connect came to nothing, and no connection has been open since.
  var cannotConnect = false
  var lastFailure = "connecting"
  /// When a push was sent or answered last, or none was ready.
  var lastMovedAt: UInt64 = 0
  /// Connections are open and took nothing since then; nil while they do.
  var stalledSince: UInt64?
  var lastAcceptedAt: UInt64 = 0
  /// No provider token is made before.
  var noTokenUntil: UInt64 = 0

  private var isPumpScheduled = false
  private var encoded: [EncodedHeaders] = []
  /// Called when pushes may have left the queues, or need no longer be waited for.
  var whenReadyMayHaveShrunk: () -> Void = {}

  init(
    environment: APNsEnvironment, target: APNsRoute, options: DeliverOptions,
    tokens: ProviderTokenSource, loop: EventLoop, random: any RandomNumberGenerator
  ) {
    self.environment = environment
    self.target = target
    self.options = options
    self.tokens = tokens
    self.loop = loop
    self.random = random
    places = Array(repeating: ConnectionPlace(), count: options.connectionsPerRoute + Self.helpers)
  }

  /// Pushes that can be sent and wait for a stream.
  var readyCount: Int {
    isOpen ? topics.reduce(0) { $0 + ($1.isOpen ? $1.queue.count : 0) } : 0
  }

  /// Pushes that wait for a stream or for their turn alone, also of topics of which only a few may
  /// go now, to ask whether credentials are taken.
  func sendableCount(at now: UInt64) -> Int {
    topics.reduce(0) { $0 + ($1.canSend(at: now) ? $1.queue.count : 0) }
  }

  /// Pushes of topics that nothing is known against wait for a connection.
  var hasWaitingPushes: Bool {
    suspects.count > 0 || topics.contains { $0.queue.count > 0 && $0.gate.isOpen }
  }

  func stop() {
    isStopped = true
    retryTimer?.cancel()
    stopConnections()
  }

  // MARK: handing out

  func schedulePump() {
    guard !isPumpScheduled, !isStopped else { return }
    isPumpScheduled = true
    loop.atTurnEnd { [weak self] in
      self?.isPumpScheduled = false
      self?.pump()
    }
  }

  private func pump() {
    let now = loop.now
    while let push = retries.popDue(at: now) { enqueue(push) }
    fill(now: now)
    for place in places { place.connection?.flushIfNeeded() }
    for connection in retiring { connection.flushIfNeeded() }
    if !isOpen { updateOpenness() }
    if topics.count > 1 { forgetTopics(now) }
    whenReadyMayHaveShrunk()
    scheduleRetries()
  }

  private func fill(now: UInt64) {
    guard suspects.count > 0 || topics.contains(where: { $0.queue.count > 0 }) else { return }
    guard let token = providerToken(now: now) else { return }
    wakeResting()
    let round = Round(now: now, wall: options.wallClock(), token: token)
    if suspects.count > 0 { fillSuspects(round) }
    let ordinary = ordinaryPlaces.count
    nextPlace = (nextPlace + 1) % ordinary
    for offset in 0..<ordinary {
      if let connection = places[(nextPlace + offset) % ordinary].connection {
        fill(connection, round)
      }
    }
    if isCareful { fillHelpers(round) }
  }

  func fill(_ connection: APNsConnection, _ round: Round) {
    guard connection.isProven(at: round.now) else { return }
    var room = min(connection.capacity, window.limit - connection.inFlight)
    if overload.rate != nil, room > 0 {
      room = min(room, overload.allowance(ready: sendableCount(at: round.now), at: round.now))
    }
    while room > 0, let topic = nextTopic(round.now),
      let run = topic.upcoming(atMost: min(room, leftOfTurn))
    {
      guard mayGo(run.first, round) else {
        topic.queue.drop(run, 1)
        topic.left(run.first)
        withhold(run.first, round)
        continue
      }
      let taken = dispatch(run, of: topic, on: connection, round)
      guard taken > 0 else { break }
      leftOfTurn -= taken
      room -= taken
    }
  }

  /// What holds for all pushes of one round of handing out.
  struct Round {
    let now: UInt64
    let wall: Int64
    let token: ProviderToken
  }

  private func nextTopic(_ now: UInt64) -> TopicQueue? {
    if leftOfTurn > 0, turn < topics.count, topics[turn].canSend(at: now) { return topics[turn] }
    for _ in topics.indices {
      turn = (turn + 1) % topics.count
      if topics[turn].canSend(at: now) {
        leftOfTurn = Self.pushesPerTurn
        return topics[turn]
      }
    }
    return nil
  }

  func mayGo(_ push: ReadyPush, _ round: Round) -> Bool {
    push.batch.headers.expiresAt > round.wall && push.tally.sendableUntil > round.now
  }

  /// A push that is too late gets its outcome; one whose segment may be another worker's by now
  /// waits until that is known.
  func withhold(_ push: ReadyPush, _ round: Round) {
    guard push.batch.headers.expiresAt > round.wall else { return push.settleExpired() }
    wait(push, until: round.now &+ 500_000_000)
  }

  /// How many pushes of a run have left; 0: the connection takes no more, and all is as it was.
  func dispatch(
    _ run: ReadyRun, of topic: TopicQueue, on connection: APNsConnection, _ round: Round
  ) -> Int {
    let isProbe = !topic.gate.isOpen
    let headers = encode(run.first.batch.headers, round.token)
    let (sent, end) = connection.send(run, headers: headers, isProbe: isProbe, now: round.now)
    var left = sent
    if case .refusedHeaders = end { left += 1 }
    topic.queue.drop(run, left)
    if sent > 0 {
      if isProbe { topic.gate.probeSent(at: round.now) }
      lastMovedAt = round.now
      congestion.take(sent)
      overload.take(sent)
      let tally = run.first.tally
      if tally.firstPushAt == 0 { tally.firstPushAt = round.wall }
      tally.lastPushAt = round.wall
      if run.first.isAnotherTry { tally.retried += sent }
      topic.left(run.first, count: sent)
    }
    switch end {
    case .allSent, .full: break
    case .refusedHeaders:
      topic.left(run.first)
      run.first.batch.settle(run.first.index + sent, .rejected(.unrenderable))
    case .usedUp(let reason): connection.retire(reason)
    }
    return left
  }

  /// The bytes of a fan-out's headers; the last few are kept, since batches of some events
  /// alternate.
  private func encode(_ headers: PushHeaders, _ token: ProviderToken) -> EncodedHeaders {
    if let last = encoded.last, last.token === token, last.headers == headers { return last }
    if let index = encoded.firstIndex(where: { $0.token === token && $0.headers == headers }) {
      let found = encoded.remove(at: index)
      encoded.append(found)
      return found
    }
    let made = EncodedHeaders(headers, token: token)
    if encoded.count == 16 { encoded.removeFirst() }
    encoded.append(made)
    return made
  }

  private func forgetTopics(_ now: UInt64) {
    let idle = topics.count { $0.queue.count == 0 }
    topics.removeAll { topic in
      let isForgotten =
        topic.isForgettable(at: now)
        || (idle > Self.maximumIdleTopics && topic.queue.count == 0 && topic.gate.isOpen)
      if isForgotten, let obstacle = topic.obstacle { options.report(.obstacleEnded(obstacle)) }
      return isForgotten
    }
    isWatching = topics.contains { $0.gate.isWatching }
  }

  /// Every half second: streams without an answer, connections without a sign of life, events that
  /// expired while no stream was free, routes that take nothing.
  func tick() {
    let now = loop.now
    for connection in places.compactMap(\.connection) + retiring { connection.tick(now: now) }
    if isWatching { askElsewhere(at: now) }
    window.forget(at: now)
    overload.forget(at: now)
    reportLosses()
    closeIdleHelpers(now)
    expireReady()
    if isOpen, readyCount == 0 { lastMovedAt = now }
    updateOpenness()
    forgetTopics(now)
    whenReadyMayHaveShrunk()
    if suspects.count > 0 || topics.contains(where: { $0.queue.count > 0 }) { schedulePump() }
  }
}
