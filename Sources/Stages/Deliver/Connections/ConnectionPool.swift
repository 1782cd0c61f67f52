import EventLoop
import HTTP2
import Model

/// A route's connections: when they are opened, and what their ends mean. Which there are places
/// for is said in its extension.
final class ConnectionPool {
  /// A server that says GOAWAY and does not answer keeps what it was sent in memory here.
  private static let maximumRetiring = 16

  let setup: RouteSetup
  let options: DeliverOptions
  private let loop: EventLoop
  let topics: RouteTopics
  let traffic: RouteTraffic
  let waiting: RouteWaiting
  private let openness: RouteOpenness
  private let answers: AnswerJudge
  private let losses: LossJudge
  private let signals: RouteSignals

  private(set) var places: [ConnectionPlace]
  var growth: ConnectionGrowth
  /// What connections show that are made now.
  var shown: PresentedCredentials
  /// GOAWAY or our own wish took them out; they live until what is in flight is answered.
  private var retiring: [any PushConnection] = []
  private var budget = ConnectBudget()
  private var nextPlace = 0
  /// Of the ordinary connection that suspects have, for want of a helper.
  private(set) var lentPlace: Int?
  private(set) var isStarted = false
  private var isStopped = false
  /// While connections end for other credentials.
  var isShowingOther = false

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
    growth = ConnectionGrowth(setup.options)
    shown = PresentedCredentials(setup.credentials)
    places = Array(
      repeating: ConnectionPlace(), count: growth.most + Self.unproven + Self.helpers)
  }

  // MARK: what is there

  private func place(of connection: any PushConnection) -> Int? {
    places.firstIndex { $0.connection === connection }
  }

  var all: [any PushConnection] { places.compactMap(\.connection) + retiring }

  var inFlight: Int {
    places.reduce(0) { $0 + ($1.connection?.inFlight ?? 0) }
      + retiring.reduce(0) { $0 + $1.inFlight }
  }

  /// Pushes wait for a connection, and for nothing else.
  var hasWaitingPushes: Bool {
    waiting.suspectCount > 0 || topics.sendableCount(at: loop.now) > 0
  }

  /// The ordinary connections take turns: none is always the last to be filled.
  func beginTurn() { nextPlace = (nextPlace + 1) % ordinaryPlaces.count }

  /// - Returns: nil also for one that is lent to suspects.
  func inTurn(_ offset: Int) -> (any PushConnection)? {
    let place = (nextPlace + offset) % ordinaryPlaces.count
    return place == lentPlace ? nil : places[place].connection
  }

  func lend(_ place: Int?) { lentPlace = place }

  func flush() {
    for place in places { place.connection?.flushIfNeeded() }
    for connection in retiring { connection.flushIfNeeded() }
  }

  // MARK: beginning and end

  /// Connects every place but the helpers', once. Before the first push, it finds an open
  /// connection; without it, the first push connects.
  func start() {
    guard !isStarted else { return }
    isStarted = true
    traffic.rests(at: loop.now)
    for place in ordinaryPlaces { open(place) }
    noteConnections()
  }

  func stop() {
    isStopped = true
    for connection in all { connection.stop() }
    for place in places.indices {
      places[place].opening?.cancel()
      places[place].connection = nil
    }
    retiring = []
  }

  /// What is in flight comes back as lost: its connections are closed.
  func leaveInFlight() {
    for connection in all where connection.inFlight > 0 {
      connection.close(.silent, "no answer, and the worker stops")
    }
  }

  // MARK: opening

  func open(_ place: Int) {
    places[place].opening?.cancel()
    places[place].opening = nil
    places[place].isResting = false
    // While the worker leaves, the connections that are there are all there will be.
    guard !isStopped, !waiting.isLeaving, places[place].connection == nil else { return }
    guard isNeeded(place) else { return }
    guard retiring.count < Self.maximumRetiring else { return open(place, after: .seconds(1)) }
    let wait = budget.take(
      at: loop.now, isHelper: !isOrdinary(place),
      isEarned: places[place].isEarned && traffic.isTaking(at: loop.now))
    guard wait == 0 else { return open(place, after: .nanoseconds(Int64(clamping: wait))) }
    do {
      let connection = try connection(streams: streams(at: place))
      places[place].connection = connection
      connection.connect()
    } catch {
      openness.failed("\(error)")
      let delay = places[place].delay(
        after: .carried(0), retry: options.retry, chance: setup.chance.next())
      options.report(
        .disconnected(setup.target.endpoint, reason: openness.lastFailure, retryAfter: delay))
      open(place, after: delay)
    }
  }

  /// The interface is chosen here, and nowhere for each push.
  private func connection(streams: Int) throws(HTTP2Error) -> any PushConnection {
    switch setup.target.interface {
    case .http2:
      try APNsConnection(
        setup, streams: streams, pool: self, traffic: traffic, answers: answers, losses: losses,
        signals: signals)
    case .binary(let acceptedAfter, let first):
      BinaryConnection(
        setup, acceptedAfter: acceptedAfter, firstIdentifier: first, pool: self, traffic: traffic,
        judge: answers, signals: signals)
    }
  }

  /// Nobody knows what comes of connecting now: what came of it before counts no more, and nobody
  /// waits for that.
  func reopen() {
    for place in places.indices {
      places[place].forgive()
      if places[place].opening != nil { open(place) }
    }
  }

  private func open(_ place: Int, after delay: Duration) {
    guard !isStopped else { return }
    places[place].opening?.cancel()
    places[place].opening = loop.schedule(after: delay) { [weak self] in self?.open(place) }
  }

  /// Whether another may be opened at once in the place of a connection that is retired now.
  func mayReplace(_ place: Int, at now: UInt64) -> Bool {
    traffic.isTaking(at: now) && retiring.count < Self.maximumRetiring
      && budget.wait(at: now, isHelper: !isOrdinary(place)) == 0
  }

  /// Of these places that are not ordinary, those in which there is none.
  func openHelpers(in range: Range<Int>) {
    for place in range where places[place].connection == nil && places[place].opening == nil {
      open(place)
    }
  }

  /// Pushes of a segment are in flight that were never answered before.
  func isPatient(with tally: SegmentTally) -> Bool {
    all.contains { $0.isPatient(with: tally) }
  }

  /// An answer took so long that nobody would have waited for it in ordinary traffic.
  func learned(_ time: UInt64) {
    for connection in all { connection.learned(time) }
  }

  /// A push has come, and all that keeps it is that idle connections were closed.
  func wakeResting() {
    for place in ordinaryPlaces where places[place].isResting { open(place) }
    noteConnections()
  }

  /// Since when there has been no connection: without one for a while, the route is closed.
  private func noteConnections() {
    let isUnconnected =
      isStarted && openConnections == 0 && !places[ordinaryPlaces].contains(where: \.isResting)
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
    if let place = place(of: connection) { places[place].cameToNothing = false }
    openness.connected()
    noteConnections()
    signals.schedulePump()
  }

  /// The connection takes no more pushes: another takes its place while it drains.
  func replace(_ connection: any PushConnection, reason: String) {
    guard let place = place(of: connection) else { return }
    retiring.append(connection)
    vacate(place, after: connection, reason: reason, drains: true)
  }

  func closed(
    _ connection: any PushConnection, orphans: [ReadyPush], mustReplace: Bool, reason: String
  ) {
    retiring.removeAll { $0 === connection }
    guard !isStopped else { return }
    losses.lost(connection, orphans, reason: reason)
    if mustReplace, let place = place(of: connection) {
      vacate(place, after: connection, reason: reason)
    }
  }

  private func vacate(
    _ place: Int, after connection: any PushConnection, reason: String, drains: Bool = false
  ) {
    places[place].connection = nil
    // Nobody misses a helper who has nothing to do, or what was only needed under load.
    guard isNeeded(place) || (connection.inFlight > 0 && place >= growth.most) else { return }
    openness.failed(reason)
    let end = connection.end(at: loop.now)
    // What goes for other credentials may be too new to have carried anything.
    if place == growth.wanted - 1, end.isCalm || (end == .carried(0) && !isShowingOther),
      growth.cameToNothing(at: loop.now)
    {
      reportSize()
      return noteConnections()
    }
    places[place].cameToNothing = end == .carried(0) && connection.isFresh
    var delay = places[place].delay(
      after: end, isPunished: connection.cut.isPunished, retry: options.retry,
      chance: setup.chance.next())
    if !isOrdinary(place) || connection.cut.isCut, !end.isCalm, connection.wasOpened,
      traffic.isTaking(at: loop.now)
    {
      places[place].forgive()
      delay = .zero
    }
    let endpoint = setup.target.endpoint
    if !drains {
      if end != .idle, delay > .zero {
        options.report(.disconnected(endpoint, reason: reason, retryAfter: delay))
      }
    } else if isOrdinary(place) {
      options.report(
        connection.wasSentAway
          ? .goingAway(endpoint, reason: reason, retryAfter: delay)
          : .retired(endpoint, reason: reason, retryAfter: delay))
    }
    let isWanted = end == .idle && topics.hasPushes
    if delay == .zero || isWanted { open(place) } else { open(place, after: delay) }
    noteConnections()
    // Nobody waits a second for a server that has said no.
    if isOrdinary(place), !connection.wasOpened, openConnections == 0 {
      openness.refusedToConnect()
      signals.whenOpennessMayHaveChanged()
    }
  }
}
