import EventLoop
import HTTP2
import Model

/// A route's connections: when they are opened and closed, and what their ends mean. Which there
/// are places for `ConnectionPlaces` says, and which are needed `ConnectionDemand`.
final class ConnectionPool {
  private let setup: RouteSetup
  private let options: DeliverOptions
  private let loop: EventLoop
  private let topics: RouteTopics
  private let traffic: RouteTraffic
  private let waiting: RouteWaiting
  private let demand: ConnectionDemand
  private let openness: RouteOpenness
  private let answers: AnswerJudge
  private let losses: LossJudge
  private let signals: RouteSignals

  private(set) var places: ConnectionPlaces
  /// What connections show that are made now.
  private var shown: any ShownCredentials
  private var budget = ConnectBudget()
  private var isStarted = false
  private var isStopped = false
  /// While connections end for other credentials.
  private var isShowingOther = false

  init(
    _ setup: RouteSetup, topics: RouteTopics, traffic: RouteTraffic, waiting: RouteWaiting,
    openness: RouteOpenness, answers: AnswerJudge, losses: LossJudge, signals: RouteSignals
  ) {
    self.setup = setup
    options = setup.options
    loop = setup.loop
    self.topics = topics
    self.traffic = traffic
    self.waiting = waiting
    self.openness = openness
    self.answers = answers
    self.losses = losses
    self.signals = signals
    shown = setup.account.makeShownCredentials()
    places = ConnectionPlaces(setup.options)
    demand = ConnectionDemand(topics: topics, traffic: traffic, waiting: waiting)
  }

  // MARK: what is there

  /// Pushes wait for a connection, and for nothing else.
  var hasWaitingPushes: Bool {
    waiting.probeCount > 0 || topics.sendableCount(at: loop.now) > 0
  }

  func beginTurn() { places.beginTurn() }

  // MARK: beginning and end

  /// Connects the ordinary places, once. Before the first push, it finds an open
  /// connection; without it, the first push connects.
  func start() {
    guard !isStarted else { return }
    isStarted = true
    traffic.rests(at: loop.now)
    for place in places.ordinary { open(place) }
    noteConnections()
  }

  func stop() {
    isStopped = true
    for connection in places.all { connection.stop() }
    for place in places.indices {
      places[place].opening?.cancel()
      places[place].connection = nil
    }
    places.forgetRetiring()
  }

  /// What is in flight comes back as lost: its connections are closed.
  func leaveInFlight() {
    for connection in places.all where connection.inFlight > 0 {
      connection.close(.silent, "no answer, and the worker stops")
    }
  }

  // MARK: opening

  func open(_ place: Int) {
    places[place].begin()
    // While the worker leaves, the connections that are there are all there will be.
    guard !isStopped, !waiting.isLeaving, places[place].connection == nil else { return }
    guard demand.isNeeded(place, of: places) else { return }
    places[place].waitsForRetiring = !places.mayRetireMore
    guard places.mayRetireMore else { return }
    let wait = budget.take(
      at: loop.now, isProbe: !places.isOrdinary(place),
      isEarned: places[place].isEarned && traffic.isTaking(at: loop.now))
    guard wait == 0 else { return open(place, after: .nanoseconds(Int64(clamping: wait))) }
    do {
      let connection = try connection(isForProbes: !places.isOrdinary(place))
      places[place].connection = connection
      connection.connect()
    } catch {
      openness.failed("\(error)")
      let delay = places[place].delay(
        after: .carried(0), retry: options.retry, chance: setup.chance())
      options.report(
        .disconnected(setup.target.endpoint, reason: openness.lastFailure, retryAfter: delay))
      open(place, after: delay)
    }
  }

  /// The interface is chosen here, and nowhere for each push.
  private func connection(isForProbes: Bool) throws(HTTP2Error) -> any PushConnection {
    if let interface = setup.target.interface {
      return interface.makeConnection(
        ConnectionRoute(setup, pool: self, judge: answers, signals: signals))
    }
    return try HTTP2Connection(
      setup, isForProbes: isForProbes, pool: self, answers: answers, losses: losses,
      signals: signals)
  }

  /// Nobody knows what comes of connecting now: what came of it before counts no more, and nobody
  /// waits for that.
  private func reopen() {
    for place in places.indices {
      places[place].forgive()
      if places[place].isComing { open(place) }
    }
  }

  private func open(_ place: Int, after delay: Duration) {
    guard !isStopped else { return }
    places[place].opening?.cancel()
    places[place].opening = loop.schedule(after: delay) { [weak self] in self?.open(place) }
  }

  /// Where a server took streams from a connection that are needed, another begins with all of
  /// them, as often as `ConnectBudget` allows: until then this one goes on. The one that has the
  /// fewest comes first. Called when all is handed out.
  func replaceCut(at now: UInt64) {
    let cut = places.open.filter { $0.cut.isCut && $0.capacity == 0 }
    guard let connection = cut.min(by: { $0.cut.streams < $1.cut.streams }),
      topics.sendableCount(at: now) > 0, traffic.isTaking(at: now), places.mayRetireMore,
      budget.wait(at: now, isProbe: false) == 0
    else { return }
    connection.retire("the server took streams from it for tokens that it rejected there")
  }

  /// Sees to it that there are so many probe connections, as far as there are places for them.
  func openProbes(_ wanted: Int) {
    for place in places.probes.prefix(wanted)
    where places[place].connection == nil && !places[place].isComing {
      open(place)
    }
  }

  /// A push has come, and all that keeps it is that idle connections were closed.
  func wakeResting() {
    for place in places.ordinary where places[place].isResting { open(place) }
    noteConnections()
  }

  /// Since when there has been no connection: without one for a while, the route is closed.
  private func noteConnections() {
    let isUnconnected =
      isStarted && places.openCount == 0 && !places.areResting
    guard openness.set(isUnconnected: isUnconnected, at: loop.now) else { return }
    if isUnconnected {
      loop.schedule(after: options.closedAfter) { [weak signals] in
        signals?.whenOpennessMayHaveChanged()
      }
    } else {
      signals.whenOpennessMayHaveChanged()
    }
  }

  // MARK: what connections say

  func ready(_ connection: any PushConnection) {
    options.report(.connected(setup.target.endpoint))
    if let place = places.place(of: connection) { places[place].cameToNothing = false }
    places.counts.countOpened()
    openness.connected()
    noteConnections()
    // The server lets in again: what it refused need not wait until its next try.
    if places.openCount == 1 {
      for place in places.ordinary where places[place].wasRefused { open(place) }
    }
    signals.schedulePump()
  }

  /// The connection takes no more pushes: another takes its place while it drains.
  func replace(_ connection: any PushConnection, reason: String) {
    guard let place = places.place(of: connection) else { return }
    places.retire(connection)
    vacate(place, after: connection, reason: reason, drains: true)
  }

  func closed(
    _ connection: any PushConnection, orphans: [ReadyPush], mustReplace: Bool, reason: String
  ) {
    places.remove(connection)
    guard !isStopped else { return }
    losses.lost(connection, orphans, reason: reason)
    if mustReplace, let place = places.place(of: connection) {
      vacate(place, after: connection, reason: reason)
    }
    openDue()
  }

  /// Called now and then, too: less may wait on those that retire, and none of them be gone.
  func openDue() { for place in places.dueForOpening { open(place) } }

  private func vacate(
    _ place: Int, after connection: any PushConnection, reason: String, drains: Bool = false
  ) {
    places[place].connection = nil
    let end = connection.end(at: loop.now)
    places.counts.count(connection, end, drains: drains)
    // A probe connection that has nothing to do is not missed, nor one that only load needed.
    let wasAtWork = connection.inFlight > 0 && place >= places.growth.most
    guard wasAtWork || demand.isNeeded(place, of: places) else { return }
    if places.isOrdinary(place) || !drains { openness.failed(reason) }
    // What goes for other credentials may be too new to have carried anything. A server that lets
    // nobody in says nothing of how many it lets in.
    let failedAlone = end == .carried(0) && places.openCount > 0 && !isShowingOther
    if place == places.growth.wanted - 1, end.isCalm || failedAlone,
      places.growth.cameToNothing(at: loop.now)
    {
      reportSize()
      return noteConnections()
    }
    places[place].cameToNothing = end == .carried(0) && connection.isFresh
    places[place].wasRefused = !connection.wasOpened
    var delay = places[place].delay(
      after: end, isPunished: connection.cut.isPunished, retry: options.retry,
      chance: setup.chance())
    if !places.isOrdinary(place) || connection.cut.isCut, !end.isCalm, connection.wasOpened,
      traffic.isTaking(at: loop.now)
    {
      places[place].forgive()
      delay = .zero
    }
    let endpoint = setup.target.endpoint
    if !drains, end != .idle, delay > .zero {
      options.report(.disconnected(endpoint, reason: reason, retryAfter: delay))
    } else if drains, places.isOrdinary(place) {
      options.report(
        connection.wasSentAway
          ? .goingAway(endpoint, reason: reason, retryAfter: delay)
          : .retired(endpoint, reason: reason, retryAfter: delay))
    }
    let isWanted = end == .idle && topics.hasPushes
    if delay == .zero || isWanted { open(place) } else { open(place, after: delay) }
    noteConnections()
    // Nobody waits a second for a server that has said no.
    if places.isOrdinary(place), !connection.wasOpened, places.openCount == 0 {
      openness.refusedToConnect()
      signals.whenOpennessMayHaveChanged()
    }
  }

  // MARK: as many as are needed, showing what they may

  /// Called now and then, when all is handed out that may go.
  func resize(at now: UInt64) {
    let growth = places.growth
    guard growth.least < growth.most, isStarted, !waiting.isLeaving else { return }
    let before = growth.wanted
    let need = demand.need(of: places, at: now)
    places.growth.look(need, at: now)
    let wanted = places.growth.wanted
    guard wanted != before else { return }
    let place = min(before, wanted)
    if wanted < before { places[place].connection?.retire("not needed any more") }
    // Of one that is not needed, no other comes.
    open(place)
    reportSize()
  }

  private func reportSize() {
    options.report(.resized(setup.target.endpoint, connections: places.growth.wanted))
  }

  func closeIdle(_ now: UInt64) {
    for connection in demand.idle(of: places, at: now) {
      connection.retire("nothing left to probe")
    }
  }

  /// From now on pushes go with this: connections that must not show it end when what is in
  /// flight on them is answered, and others take their places. A server that let nobody in with
  /// what was shown before may do so now.
  func show(_ credential: any Credential, at now: UInt64) {
    if !shown.mayShow(credential, at: now) {
      shown = setup.account.makeShownCredentials()
      reopen()
    }
    shown.show(credential, at: now)
    isShowingOther = true
    defer { isShowingOther = false }
    for place in places.indices {
      guard let connection = places[place].connection,
        !connection.shown.mayShow(credential, at: now)
      else { continue }
      connection.retire("it has shown other credentials")
    }
  }
}

/// Connections that a route may open in a while, whatever the reason: a bound on any storm.
struct ConnectBudget {
  static let perSecond: UInt64 = 20
  private static let burst: UInt64 = 20
  private static let cost: UInt64 = 1_000_000_000 / perSecond
  /// One that takes the place of a connection of use costs so much less: with GOAWAY after every
  /// hundred requests twenty a second would carry two thousand, and these carry forty thousand.
  static let earnedPerOther: UInt64 = 20

  /// When the budget would be untouched again, in monotonic nanoseconds.
  private var usedUntil: UInt64 = 0

  /// Nanoseconds until a connection may be opened; when 0, one is taken from the budget.
  ///
  /// - Parameters:
  ///   - isProbe: ordinary connections come first: half of the burst is theirs alone.
  ///   - isEarned: the one before it was of use (`ConnectionPlace.isEarned`).
  mutating func take(at now: UInt64, isProbe: Bool = false, isEarned: Bool = false) -> UInt64 {
    let wait = wait(at: now, isProbe: isProbe)
    guard wait == 0 else { return wait }
    usedUntil = max(usedUntil, now) + (isEarned ? Self.cost / Self.earnedPerOther : Self.cost)
    return 0
  }

  /// As `take`, without taking one.
  func wait(at now: UInt64, isProbe: Bool) -> UInt64 {
    let ahead = max(usedUntil, now) - now
    let room = ((isProbe ? Self.burst / 2 : Self.burst) - 1) * Self.cost
    return ahead <= room ? 0 : ahead - room
  }
}

/// What connections of a route are for: whether one is needed in a place, and whether there are
/// enough of them.
final class ConnectionDemand {
  /// Nanoseconds after which a connection goes that has had nothing to do, and is not ordinary.
  private static let idle: UInt64 = 30_000_000_000

  private let topics: RouteTopics
  private let traffic: RouteTraffic
  private let waiting: RouteWaiting

  init(topics: RouteTopics, traffic: RouteTraffic, waiting: RouteWaiting) {
    self.topics = topics
    self.traffic = traffic
    self.waiting = waiting
  }

  /// Whether a connection belongs there now.
  func isNeeded(_ place: Int, of places: ConnectionPlaces) -> Bool {
    if places.isOrdinary(place) { return true }
    return places.probes.contains(place) && waiting.probeCount > 0
  }

  /// Whether there are enough ordinary ones.
  func need(of places: ConnectionPlaces, at now: UInt64) -> ConnectionGrowth.Need {
    let open = places.open
    guard !topics.waitForStreams else {
      let areFull = open.count == places.growth.wanted && open.allSatisfy(\.isFull)
      return areFull && traffic.isInOrder(at: now) ? .more : .asMany
    }
    let inFlight = open.reduce(0) { $0 + $1.inFlight }
    let streams = places.streamsWithoutLast
    return streams > 0 && inFlight <= streams / 2 ? .fewer : .asMany
  }

  /// A probe connection goes when it has had nothing to do for a while, or at once where it is in
  /// the way of an ordinary one.
  func idle(of places: ConnectionPlaces, at now: UInt64) -> [any PushConnection] {
    guard waiting.probeCount == 0 else { return [] }
    return places.probes.compactMap { places[$0].connection }.filter {
      $0.inFlight == 0 && (places.isOneMissing || isIdle($0, now))
    }
  }

  private func isIdle(_ connection: any PushConnection, _ now: UInt64) -> Bool {
    connection.inFlight == 0 && now &- connection.lastUsedAt > Self.idle
  }
}
