import EventLoop
import HTTP2
import Model
import Text
import Transport

/// Opens and replaces a route's connections, each in a slot of `ConnectionSlots`.
final class ConnectionPool {
  private let context: RouteContext
  private let waiting: RouteWaiting
  private let answers: AnswerJudge
  private let losses: LossJudge

  var slots: ConnectionSlots
  /// The credentials that connections present which are made now.
  private var shown: any ShownCredentials
  private var budget = ConnectBudget()
  private var isStarted = false
  private var isStopped = false
  private var probedAt: UInt64 = 0
  /// Until then the server is offered HTTP/1.1 alone, since it chose that before.
  private var http1Until: UInt64 = 0

  init(
    _ context: RouteContext, waiting: RouteWaiting, answers: AnswerJudge, losses: LossJudge
  ) {
    self.context = context
    self.waiting = waiting
    self.answers = answers
    self.losses = losses
    shown = context.account.makeShownCredentials()
    slots = ConnectionSlots(context.options)
  }

  // MARK: beginning and end

  /// Fills the ordinary slots, once; later calls do nothing.
  func start() {
    guard !isStarted else { return }
    isStarted = true
    context.traffic.rests(at: context.loop.now)
    openMissing()
    noteConnections()
  }

  func stop() {
    isStopped = true
    for connection in slots.all { connection.stop() }
    slots.removeAll()
  }

  /// Closes connections with pushes in flight, which come back as lost.
  func leaveInFlight() {
    for connection in slots.all where connection.inFlight > 0 {
      connection.handle(.silent, "no answer, and the worker stops")
    }
  }

  // MARK: opening

  /// Opens ordinary connections that are missing and wait for nothing. Called now and then, too:
  /// they may have waited for others to have their last answers.
  func openMissing() {
    for slot in slots.ordinary where isStarted && slots[slot].isVacant { open(slot) }
  }

  private func open(_ slot: Int) {
    slots[slot].begin()
    // While the worker leaves, the connections that are there are all there will be.
    guard !isStopped, !waiting.isLeaving, slots[slot].connection == nil, isNeeded(slot),
      slots.mayRetireMore
    else { return }
    let isProbe = slots.probes.contains(slot)
    let wait = budget.take(
      at: context.loop.now, isProbe: isProbe,
      isEarned: slots[slot].isEarned && context.traffic.isTaking(at: context.loop.now))
    guard wait == 0 else { return open(slot, after: .nanoseconds(Int64(clamping: wait))) }
    do {
      let connection = try connection(isForProbes: isProbe)
      slots[slot].connection = connection
      connection.connect()
    } catch {
      context.openness.failed("\(error)")
      open(slot, after: context.options.retry.maximum)
    }
  }

  /// The interface is chosen here, and nowhere for each push.
  private func connection(isForProbes: Bool) throws(HTTP2Error) -> any PushConnection {
    if let interface = context.target.interface {
      return interface.makeConnection(ConnectionRoute(context, pool: self, judge: answers))
    }
    if context.loop.now < http1Until {
      return try HTTP1Connection(context, isForProbes: isForProbes, pool: self, answers: answers)
    }
    return try HTTP2Connection(
      context, isForProbes: isForProbes, pool: self, answers: answers, losses: losses)
  }

  /// The server has chosen HTTP/1.1 of what this connection offered.
  func speaksHTTP1(
    _ connection: HTTP2Connection, over transport: Connection
  ) throws(HTTP2Error) {
    guard let slot = slots.slot(of: connection) else { return transport.close() }
    let successor = try HTTP1Connection(
      context, isForProbes: slots.probes.contains(slot), pool: self, answers: answers)
    // A minute: another of its nodes may speak HTTP/2.
    http1Until = context.loop.now &+ Evidence.memory
    slots[slot].connection = successor
    successor.take(transport, shown: connection.shown)
  }

  private func open(_ slot: Int, after delay: Duration) {
    slots[slot].opening?.cancel()
    slots[slot].opening = context.loop.schedule(after: delay) { [weak self] in self?.open(slot) }
  }

  /// Replaces one connection whose stream limit the server has cut, if pushes wait for streams: the
  /// one with the fewest. It stays in use until `ConnectBudget` allows another. Called when all is
  /// handed out.
  func replaceCut(at now: UInt64) {
    let cut = slots.open.filter { $0.cut.isCut && $0.capacity == 0 }
    guard let connection = cut.min(by: { $0.streams < $1.streams }),
      context.queue.sendableCount(at: now) > 0, context.traffic.isTaking(at: now),
      slots.mayRetireMore, budget.wait(at: now, isProbe: false) == 0
    else { return }
    connection.retire("the server took streams from it for tokens that it rejected there")
  }

  /// Opens probe connections until there are so many, as far as there are slots for them.
  func openProbes(_ wanted: Int) {
    probedAt = context.loop.now
    for slot in slots.probes.prefix(wanted) where slots[slot].isVacant { open(slot) }
  }

  /// A push waits: opens connections that the server had closed for being idle.
  func wakeResting() {
    for slot in slots.ordinary where slots[slot].isResting { open(slot) }
    noteConnections()
  }

  /// Since when there has been no connection: without one for a while, the route is closed.
  private func noteConnections() {
    let isUnconnected =
      isStarted && slots.openCount == 0 && !slots.ordinary.contains { slots[$0].isResting }
    guard context.openness.set(isUnconnected: isUnconnected, at: context.loop.now) else { return }
    if isUnconnected {
      context.loop.schedule(after: context.options.closedAfter) {
        [weak signals = context.signals] in
        signals?.whenOpennessMayHaveChanged()
      }
    } else {
      context.signals.whenOpennessMayHaveChanged()
    }
  }

  // MARK: events of connections

  func ready(_ connection: any PushConnection) {
    context.report(.connected(context.server))
    slots.counts.opened += 1
    context.openness.cannotConnect = false
    noteConnections()
    // The server lets in again: slots that it refused need not wait for their next try.
    if slots.openCount == 1 {
      for slot in slots.ordinary where slots[slot].wasRefused { open(slot) }
    }
    context.signals.schedulePump()
  }

  /// The connection takes no more pushes: another takes its slot while it drains.
  func replace(_ connection: any PushConnection, reason: String) {
    guard let slot = slots.slot(of: connection) else { return }
    slots.retiring.append(connection)
    releaseSlot(slot, after: connection, reason: reason, drains: true)
  }

  func closed(
    _ connection: any PushConnection, orphans: [ReadyPush], mustReplace: Bool, reason: String
  ) {
    slots.retiring.removeAll { $0 === connection }
    guard !isStopped else { return }
    // It may have changed its mind: the next connection offers both.
    if !connection.wasOpened { http1Until = 0 }
    losses.lost(connection, orphans, reason: reason)
    if mustReplace, let slot = slots.slot(of: connection) {
      releaseSlot(slot, after: connection, reason: reason)
    }
    openMissing()
  }

  private func releaseSlot(
    _ slot: Int, after connection: any PushConnection, reason: String, drains: Bool = false
  ) {
    slots[slot].connection = nil
    let end = connection.end(at: context.loop.now)
    slots.counts.count(connection, end, drains: drains)
    // A probe connection that has nothing to do is not missed, nor one that only load needed.
    let wasAtWork = connection.inFlight > 0 && slot >= slots.growth.most
    guard wasAtWork || isNeeded(slot) else { return }
    let isOrdinary = slots.ordinary.contains(slot)
    if isOrdinary || !drains { context.openness.failed(reason) }
    // While no connection is open, nobody knows whether the server admits fewer of them.
    let failedAlone = end == .carried(0) && slots.openCount > 0
    if slot == slots.growth.wanted - 1, end == .calm || failedAlone,
      slots.growth.cameToNothing(at: context.loop.now)
    {
      reportSize()
      return noteConnections()
    }
    slots[slot].wasRefused = !connection.wasOpened
    var delay = slots[slot].delay(
      after: end, wasCut: connection.cut.isCut, retry: context.options.retry,
      chance: context.chance())
    if !isOrdinary || connection.cut.isCut, end != .calm, connection.wasOpened,
      context.traffic.isTaking(at: context.loop.now)
    {
      slots[slot].forgive()
      delay = .zero
    }
    let server = context.server
    if !drains, end != .idle, delay > .zero {
      context.report(.disconnected(server, reason: reason, retryAfter: delay))
    } else if drains, isOrdinary {
      context.report(
        connection.wasSentAway
          ? .goingAway(server, reason: reason, retryAfter: delay)
          : .retired(server, reason: reason, retryAfter: delay))
    }
    if end == .idle, context.queue.hasPushes { delay = .zero }
    if delay == .zero { open(slot) } else { open(slot, after: delay) }
    noteConnections()
    // Nobody waits a second for a server that has said no.
    if isOrdinary, !connection.wasOpened, slots.openCount == 0 {
      context.openness.cannotConnect = true
      context.signals.whenOpennessMayHaveChanged()
    }
  }

  // MARK: the connections that are needed

  /// Pushes wait for a connection, and for nothing else.
  var hasWaitingPushes: Bool {
    waiting.probes.count > 0 || context.queue.sendableCount(at: context.loop.now) > 0
  }

  private func isNeeded(_ slot: Int) -> Bool {
    slots.ordinary.contains(slot) || (slots.probes.contains(slot) && waiting.probes.count > 0)
  }

  /// Whether there are enough ordinary ones.
  private func need(at now: UInt64) -> ConnectionGrowth.Need {
    let open = slots.open
    guard !context.queue.waitsForStreams else {
      let areFull = open.allSatisfy { $0.inFlight > 0 && $0.capacity == 0 }
      return areFull && open.count == slots.growth.wanted && context.traffic.isInOrder(at: now)
        ? .more : .asMany
    }
    let inFlight = open.reduce(0) { $0 + $1.inFlight }
    let streams = slots.ordinary.dropLast().reduce(0) { $0 + (slots[$1].connection?.streams ?? 0) }
    return streams > 0 && inFlight <= streams / 2 ? .fewer : .asMany
  }

  /// Closes probe connections when nothing was probed for a while, or at once while an ordinary one
  /// is missing: the server may admit only so many.
  func closeIdle(_ now: UInt64) {
    let open = slots.probes.compactMap { slots[$0].connection }
    if waiting.probes.count > 0 || open.contains(where: { $0.inFlight > 0 }) { probedAt = now }
    let isOneMissing = slots.openCount < slots.growth.least
    guard isOneMissing ? probedAt < now : now &- probedAt > Evidence.memory else { return }
    for connection in open { connection.retire("nothing left to probe") }
  }

  /// Called now and then, when all is handed out that may go.
  func resize(at now: UInt64) {
    let growth = slots.growth
    guard growth.least < growth.most, isStarted, !waiting.isLeaving else { return }
    let before = growth.wanted
    slots.growth.observe(need(at: now), at: now)
    let wanted = slots.growth.wanted
    guard wanted != before else { return }
    let slot = min(before, wanted)
    if wanted < before { slots[slot].connection?.retire("not needed any more") }
    // Of one that is not needed, no other comes.
    open(slot)
    reportSize()
  }

  private func reportSize() {
    context.report(.resized(context.server, connections: slots.growth.wanted))
  }

  /// Sends with this credential from now on. Connections that must not present it are replaced, and
  /// end when their pushes are answered. A server that let nobody in before may do so now.
  func show(_ credential: any Credential, at now: UInt64) {
    if !shown.mayShow(credential, at: now) {
      shown = context.account.makeShownCredentials()
      // Where a slot waits for its next try, former failures say nothing of other credentials.
      for slot in slots.indices {
        slots[slot].forgive()
        if slots[slot].opening != nil { open(slot) }
      }
    }
    shown.show(credential, at: now)
    for slot in slots.indices {
      guard let connection = slots[slot].connection, !connection.shown.mayShow(credential, at: now)
      else { continue }
      connection.retire("it has shown other credentials")
    }
  }
}

/// Bounds how many connections a route opens, whatever the reason. A storm of TLS handshakes takes
/// the processor's time, and servers take it for an attack.
struct ConnectBudget {
  static let perSecond = 20.0
  /// A second's.
  private static let burst = perSecond
  /// A connection that replaces a useful one costs as little as one push of it. With GOAWAY after
  /// every hundred requests, twenty connections a second would carry 2,000 pushes; 400 carry
  /// 40,000.
  private static let earned = 1 / Double(ConnectionSlot.usefulPushes)

  private var bucket = TokenBucket(tokens: burst)

  /// Nanoseconds until a connection may be opened; when 0, one is taken from the budget.
  ///
  /// - Parameters:
  ///   - isProbe: ordinary connections come first: half of the burst is theirs alone.
  ///   - isEarned: the one before it was of use (`ConnectionSlot.isEarned`).
  mutating func take(at now: UInt64, isProbe: Bool = false, isEarned: Bool = false) -> UInt64 {
    bucket.fill(Self.perSecond, burst: Self.burst, at: now)
    let wait = wait(at: now, isProbe: isProbe)
    if wait == 0 { bucket.take(isEarned ? Self.earned : 1) }
    return wait
  }

  /// As `take`, without taking one.
  func wait(at now: UInt64, isProbe: Bool) -> UInt64 {
    bucket.wait(for: isProbe ? Self.burst / 2 + 1 : 1, Self.perSecond, at: now)
  }
}
