import EventLoop
import Model

/// The way of a lane's pushes to one of Apple's environments: what waits, what waits longer, and
/// the connections. It hands out pushes and, in Route+Answers, judges what became of them. Confined
/// to its lane's loop.
final class Route {
  let target: APNsRoute
  let options: DeliverOptions
  let loop: EventLoop
  let tokens: ProviderTokenSource
  var random: any RandomNumberGenerator
  var ready: ReadyQueue
  var retries = RetryQueue()
  private var seats: [APNsConnection?]
  /// GOAWAY or our own wish took them out; they live until what is in flight is answered.
  private var retiring: [APNsConnection] = []
  private var failures: [Int]
  var heldUntil: UInt64 = 0
  /// Our credentials were refused, and no answer has shown since that they are taken.
  var isProbing = false
  private var isPumpScheduled = false
  private var isStopped = false
  private var isStarted = false
  private var nextSeat = 0
  /// A connection with so many answers is replaced at once when it goes; otherwise a server that
  /// says GOAWAY after each request would make us connect as fast as we can.
  private static let usefulAnswers = 50
  private var retryTimer: LoopTimer?
  private var encoded: [EncodedHeaders] = []
  /// Called when pushes may have left `ready`.
  var whenReadyMayHaveShrunk: () -> Void = {}

  init(
    environment: APNsEnvironment, target: APNsRoute, options: DeliverOptions,
    tokens: ProviderTokenSource, loop: EventLoop, random: any RandomNumberGenerator
  ) {
    self.target = target
    self.options = options
    self.tokens = tokens
    self.loop = loop
    self.random = random
    ready = ReadyQueue(environment: environment)
    seats = Array(repeating: nil, count: options.connectionsPerRoute)
    failures = Array(repeating: 0, count: options.connectionsPerRoute)
  }

  var readyCount: Int { ready.count }
  var waitingCount: Int { ready.count + retries.count }
  var inFlight: Int {
    seats.reduce(0) { $0 + ($1?.inFlight ?? 0) } + retiring.reduce(0) { $0 + $1.inFlight }
  }
  var openConnections: Int { seats.count { $0?.phase == .open } }

  /// Connects every seat, once. Before the first push, it finds an open connection; without it, the
  /// first push connects.
  func start() {
    guard !isStarted else { return }
    isStarted = true
    for seat in seats.indices { open(seat) }
  }

  func stop() {
    isStopped = true
    retryTimer?.cancel()
    for connection in seats.compactMap({ $0 }) + retiring { connection.stop() }
    seats = seats.map { _ in nil }
    retiring = []
  }

  /// Returns how many pushes of `batch` are this route's.
  func append(_ batch: PushBatch) -> Int {
    let taken = ready.append(batch)
    if taken > 0 {
      start()
      schedulePump()
    }
    return taken
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
    while let push = retries.popDue(at: now) { ready.putBack(push) }
    if ready.count > 0, now >= heldUntil { fill(now: now) }
    for connection in seats { connection?.flushIfNeeded() }
    for connection in retiring { connection.flushIfNeeded() }
    whenReadyMayHaveShrunk()
    scheduleRetries()
  }

  private func fill(now: UInt64) {
    // After a refusal of our credentials one push at a time asks whether they are good by now.
    var budget = isProbing ? (inFlight == 0 ? 1 : 0) : Int.max
    let wall = options.wallClock()
    let token: ProviderToken
    do {
      token = try tokens.token(now: wall)
    } catch {
      options.report(.providerTokenFailed(reason: "\(error)"))
      hold(.invalidProviderToken)
      return
    }
    nextSeat = (nextSeat + 1) % seats.count
    for offset in seats.indices {
      guard let connection = seats[(nextSeat + offset) % seats.count] else { continue }
      var room = min(connection.capacity, budget)
      while room > 0, connection.hasWindow(), let push = ready.next() {
        guard push.batch.headers.expiresAt > wall else {
          push.batch.settle(push.index, .expired)
          continue
        }
        guard dispatch(push, on: connection, token: token, now: now, wall: wall) else { break }
        room -= 1
        budget -= 1
      }
    }
  }

  /// False when the connection takes no more.
  private func dispatch(
    _ push: ReadyPush, on connection: APNsConnection, token: ProviderToken, now: UInt64,
    wall: Int64
  ) -> Bool {
    let headers = encode(push.batch.headers, token)
    switch connection.send(push, headers: headers, now: now) {
    case .sent:
      let tally = push.batch.tally
      if tally.firstPushAt == 0 { tally.firstPushAt = wall }
      tally.lastPushAt = wall
      if push.tries > 0 { tally.retried += 1 }
      return true
    case .refusedHeaders:
      push.batch.settle(push.index, .rejected(.unrenderable))
      return true
    case .failed:
      ready.putBack(push)
      return false
    }
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

  func scheduleRetries() {
    retryTimer?.cancel()
    retryTimer = nil
    var due = retries.nextDue
    if ready.count > 0, heldUntil > loop.now { due = min(due ?? .max, heldUntil) }
    guard let due else { return }
    let delay = Duration.nanoseconds(Int64(clamping: due > loop.now ? due - loop.now : 0))
    retryTimer = loop.schedule(after: delay) { [weak self] in self?.schedulePump() }
  }

  /// Every half second: streams without an answer, connections without a sign of life, events that
  /// expired while no stream was free.
  func tick() {
    let now = loop.now
    for connection in seats.compactMap({ $0 }) + retiring { connection.tick(now: now) }
    for push in ready.takeExpired(at: options.wallClock()) {
      push.batch.settle(push.index, .expired)
    }
    whenReadyMayHaveShrunk()
    if ready.count > 0 { schedulePump() }
  }

  // MARK: connections

  private func open(_ seat: Int) {
    guard !isStopped, seats[seat] == nil else { return }
    do {
      let connection = try APNsConnection(route: self, loop: loop, options: options)
      seats[seat] = connection
      connection.connect()
    } catch {
      reopenLater(seat, after: nil, reason: "\(error)")
    }
  }

  func ready(_ connection: APNsConnection) {
    options.report(.connected(target.endpoint))
    schedulePump()
  }

  /// The connection takes no more pushes: another takes its seat while it drains.
  func replace(_ connection: APNsConnection, reason: String) {
    guard let seat = seats.firstIndex(where: { $0 === connection }) else { return }
    options.report(.goingAway(target.endpoint, reason: reason))
    retiring.append(connection)
    seats[seat] = nil
    if connection.answers >= Self.usefulAnswers {
      failures[seat] = 0
      open(seat)
    } else {
      // It went before it was of much use: do not run in circles.
      reopenLater(seat, after: connection, reason: reason)
    }
  }

  func closed(
    _ connection: APNsConnection, orphans: [ReadyPush], mustReplace: Bool, reason: String
  ) {
    retiring.removeAll { $0 === connection }
    guard !isStopped else { return }
    for push in orphans.reversed() { ready.putBack(push) }
    if mustReplace, let seat = seats.firstIndex(where: { $0 === connection }) {
      seats[seat] = nil
      reopenLater(seat, after: connection, reason: reason)
    }
    if !orphans.isEmpty { schedulePump() }
  }

  /// Apple takes rapid connecting and disconnecting for an attack: wait, longer each time that a
  /// connection was of no use.
  private func reopenLater(_ seat: Int, after connection: APNsConnection?, reason: String) {
    if let connection, connection.answers > 0 { failures[seat] = 0 }
    failures[seat] += 1
    let delay = options.retry.backOff(tries: failures[seat], chance: random.next())
    options.report(.disconnected(target.endpoint, reason: reason, retryAfter: delay))
    loop.schedule(after: delay) { [weak self] in self?.open(seat) }
  }
}
