import EventLoop
import Model

/// The route's connections: when they are opened, and what their ends mean.
extension Route {
  var ordinarySeats: Range<Int> { 0..<options.connectionsPerRoute }

  var openConnections: Int {
    seats[ordinarySeats].count { $0.connection?.phase == .open }
  }
  var inFlight: Int {
    seats.reduce(0) { $0 + ($1.connection?.inFlight ?? 0) }
      + retiring.reduce(0) { $0 + $1.inFlight }
  }

  /// Connects every seat but the helpers', once. Before the first push, it finds an open
  /// connection; without it, the first push connects.
  func start() {
    guard !isStarted else { return }
    isStarted = true
    lastMovedAt = loop.now
    for seat in ordinarySeats { open(seat) }
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

  func open(_ seat: Int) {
    seats[seat].opening?.cancel()
    seats[seat].opening = nil
    seats[seat].isResting = false
    guard !isStopped, seats[seat].connection == nil else { return }
    guard isOrdinary(seat) || needsHelpers else { return }
    // A server that says GOAWAY and does not answer keeps what it was sent in memory here.
    guard retiring.count < 16 else { return open(seat, after: .seconds(1)) }
    let wait = budget.take(at: loop.now, isHelper: !isOrdinary(seat))
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
    for seat in ordinarySeats where seats[seat].isResting { open(seat) }
    noteConnections()
  }

  /// Since when there has been no connection: without one for a while, the route is closed.
  private func noteConnections() {
    let isUnconnected =
      isStarted && openConnections == 0 && !seats[ordinarySeats].contains(where: \.isResting)
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
    if isOrdinary(seat) { options.report(.goingAway(target.endpoint, reason: reason)) }
    retiring.append(connection)
    vacate(seat, after: connection, reason: reason)
  }

  func closed(
    _ connection: APNsConnection, orphans: [ReadyPush], mustReplace: Bool, reason: String
  ) {
    retiring.removeAll { $0 === connection }
    guard !isStopped else { return }
    if orphans.contains(where: { $0.history.losses == 0 }) {
      window.lost(openedAt: connection.openedAt, at: loop.now)
    }
    if !orphans.isEmpty { losses.count(orphans.count, reason: reason) }
    reportLosses()
    lost(orphans)
    if mustReplace, let seat = seat(of: connection) {
      vacate(seat, after: connection, reason: reason)
    }
  }

  /// Called now and then, and at a loss.
  func reportLosses() {
    guard let lost = losses.due(at: loop.now) else { return }
    options.report(
      .lost(
        target.endpoint, connections: lost.connections, pushes: lost.pushes, reason: lost.reason))
  }

  private func seat(of connection: APNsConnection) -> Int? {
    seats.firstIndex { $0.connection === connection }
  }

  private func isOrdinary(_ seat: Int) -> Bool { ordinarySeats.contains(seat) }

  private func vacate(_ seat: Int, after connection: APNsConnection, reason: String) {
    seats[seat].connection = nil
    // Nobody misses a helper who has nothing to do.
    guard isOrdinary(seat) || needsHelpers || connection.inFlight > 0 else { return }
    lastFailure = reason
    let end = connection.end(at: loop.now)
    var delay = seats[seat].delay(after: end, retry: options.retry, chance: random.next())
    if !isOrdinary(seat), connection.wasOpened, isTaking {
      seats[seat].forgive()
      delay = .zero
    }
    if end != .idle, delay > .zero {
      options.report(.disconnected(target.endpoint, reason: reason, retryAfter: delay))
    }
    let isWanted = end == .idle && topics.contains { $0.queue.count > 0 }
    if delay == .zero || isWanted { open(seat) } else { open(seat, after: delay) }
    noteConnections()
    // Nobody waits a second for a server that has said no.
    if isOrdinary(seat), !connection.wasOpened, openConnections == 0 {
      cannotConnect = true
      updateOpenness()
    }
  }
}
