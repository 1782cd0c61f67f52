import EventLoop
import Model

/// The route's connections: when they are opened, and what their ends mean.
extension Route {
  private var suspectSeat: Int { seats.count - 1 }

  var openConnections: Int { seats.dropLast().count { $0.connection?.phase == .open } }
  var inFlight: Int {
    seats.reduce(0) { $0 + ($1.connection?.inFlight ?? 0) }
      + retiring.reduce(0) { $0 + $1.inFlight }
  }

  /// Connects every seat but the suspects', once. Before the first push, it finds an open
  /// connection; without it, the first push connects.
  func start() {
    guard !isStarted else { return }
    isStarted = true
    lastMovedAt = loop.now
    for seat in seats.indices.dropLast() { open(seat) }
    noteConnections()
  }

  func stopConnections() {
    for connection in seats.compactMap(\.connection) + retiring { connection.stop() }
    for seat in seats.indices {
      seats[seat].opening?.cancel()
      seats[seat].connection = nil
    }
    retiring = []
  }

  // MARK: opening

  private func open(_ seat: Int) {
    seats[seat].opening?.cancel()
    seats[seat].opening = nil
    seats[seat].isResting = false
    guard !isStopped, seats[seat].connection == nil else { return }
    // Suspects are rare: their connection is opened when there are any.
    guard seat != suspectSeat || suspects.count > 0 else { return }
    // A server that says GOAWAY and does not answer keeps what it was sent in memory here.
    guard retiring.count < 16 else { return open(seat, after: .seconds(1)) }
    let wait = budget.take(at: loop.now)
    guard wait == 0 else { return open(seat, after: .nanoseconds(Int64(clamping: wait))) }
    do {
      let connection = try APNsConnection(route: self, loop: loop, options: options)
      seats[seat].connection = connection
      connection.connect()
    } catch {
      lastFailure = "\(error)"
      let delay = seats[seat].delay(
        after: .carried(0), retry: options.retry, chance: random.next())
      options.report(.disconnected(target.endpoint, reason: lastFailure, retryAfter: delay))
      open(seat, after: delay)
    }
  }

  private func open(_ seat: Int, after delay: Duration) {
    guard !isStopped else { return }
    seats[seat].opening?.cancel()
    seats[seat].opening = loop.schedule(after: delay) { [weak self] in self?.open(seat) }
  }

  /// A push has come, and all that keeps it is that idle connections were closed.
  func wakeResting() {
    for seat in seats.indices.dropLast() where seats[seat].isResting { open(seat) }
    noteConnections()
  }

  /// Since when there has been no connection: without one for a while, the route is closed.
  private func noteConnections() {
    let isUnconnected =
      isStarted && openConnections == 0 && !seats.dropLast().contains(where: \.isResting)
    guard isUnconnected != (unconnectedSince != nil) else { return }
    unconnectedSince = isUnconnected ? loop.now : nil
    if isUnconnected {
      loop.schedule(after: options.closedAfter) { [weak self] in self?.updateOpenness() }
    } else {
      updateOpenness()
    }
  }

  // MARK: what connections say

  func ready(_ connection: APNsConnection) {
    options.report(.connected(target.endpoint))
    cannotConnect = false
    noteConnections()
    schedulePump()
  }

  /// The connection takes no more pushes: another takes its seat while it drains.
  func replace(_ connection: APNsConnection, reason: String) {
    guard let seat = seat(of: connection) else { return }
    if seat != suspectSeat { options.report(.goingAway(target.endpoint, reason: reason)) }
    retiring.append(connection)
    vacate(seat, after: connection, reason: reason)
  }

  func closed(
    _ connection: APNsConnection, orphans: [ReadyPush], mustReplace: Bool, reason: String
  ) {
    retiring.removeAll { $0 === connection }
    guard !isStopped else { return }
    for push in orphans { lost(push) }
    if mustReplace, let seat = seat(of: connection) {
      vacate(seat, after: connection, reason: reason)
    }
  }

  private func seat(of connection: APNsConnection) -> Int? {
    seats.firstIndex { $0.connection === connection }
  }

  private func vacate(_ seat: Int, after connection: APNsConnection, reason: String) {
    seats[seat].connection = nil
    // Nobody misses the suspects' connection when there are none.
    guard seat != suspectSeat || suspects.count + connection.inFlight > 0 else { return }
    lastFailure = reason
    let end = connection.end(at: loop.now)
    let delay = seats[seat].delay(after: end, retry: options.retry, chance: random.next())
    if end != .idle, delay > .zero {
      options.report(.disconnected(target.endpoint, reason: reason, retryAfter: delay))
    }
    let isWanted = end == .idle && topics.contains { $0.queue.count > 0 }
    if delay == .zero || isWanted { open(seat) } else { open(seat, after: delay) }
    noteConnections()
    // Nobody waits a second for a server that has said no.
    if seat != suspectSeat, !connection.wasOpened, openConnections == 0 {
      cannotConnect = true
      updateOpenness()
    }
  }

  // MARK: suspects

  /// Sends what may be why a connection was lost, a few at a time, on the connection made for it.
  func fillSuspects(_ round: Round) {
    guard suspects.count > 0 else { return }
    guard let connection = seats[suspectSeat].connection else {
      if seats[suspectSeat].opening == nil { open(suspectSeat) }
      return
    }
    guard connection.isProven(at: round.now) else { return }
    while connection.capacity > 0, connection.hasWindow(),
      let push = suspects.next(inFlight: connection.inFlight)
    {
      let topic = topic(named: push.topic)
      guard mayGo(push, round) else {
        withhold(push, round)
        continue
      }
      guard topic.gate.isOpen else {
        wait(push, until: topic.gate.opensAt ?? round.now &+ 500_000_000)
        continue
      }
      guard send(push, of: topic, on: connection, round) else { return suspects.append(push) }
    }
  }

  private func send(
    _ push: ReadyPush, of topic: TopicQueue, on connection: APNsConnection, _ round: Round
  ) -> Bool {
    // It never stood in the topic's queue, so that `unsent` does not count it.
    var push = push
    push.isFirst = false
    return dispatch(push, of: topic, on: connection, round)
  }

  /// The suspects' connection goes when it has had nothing to do for a while.
  func closeIdleSuspects(_ now: UInt64) {
    guard suspects.count == 0, let connection = seats[suspectSeat].connection,
      connection.inFlight == 0, now &- connection.lastUsedAt > 30_000_000_000
    else { return }
    connection.retire("no suspects left")
  }
}
