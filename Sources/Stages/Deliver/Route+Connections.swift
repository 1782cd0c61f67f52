import EventLoop
import Model

/// The route's connections: when they are opened, and what their ends mean.
extension Route {
  var ordinaryPlaces: Range<Int> { 0..<options.connectionsPerRoute }

  var openConnections: Int {
    places[ordinaryPlaces].count { $0.connection?.phase == .open }
  }
  var inFlight: Int {
    places.reduce(0) { $0 + ($1.connection?.inFlight ?? 0) }
      + retiring.reduce(0) { $0 + $1.inFlight }
  }

  /// Connects every place but the helpers', once. Before the first push, it finds an open
  /// connection; without it, the first push connects.
  func start() {
    guard !isStarted else { return }
    isStarted = true
    lastMovedAt = loop.now
    for place in ordinaryPlaces { open(place) }
    noteConnections()
  }

  func stopConnections() {
    for connection in places.compactMap(\.connection) + retiring { connection.stop() }
    for place in places.indices {
      places[place].opening?.cancel()
      places[place].connection = nil
    }
    retiring = []
  }

  // MARK: opening

  func open(_ place: Int) {
    places[place].opening?.cancel()
    places[place].opening = nil
    places[place].isResting = false
    guard !isStopped, places[place].connection == nil else { return }
    guard isOrdinary(place) || needsHelpers else { return }
    // A server that says GOAWAY and does not answer keeps what it was sent in memory here.
    guard retiring.count < 16 else { return open(place, after: .seconds(1)) }
    let wait = budget.take(at: loop.now, isHelper: !isOrdinary(place))
    guard wait == 0 else { return open(place, after: .nanoseconds(Int64(clamping: wait))) }
    do {
      let connection = try APNsConnection(route: self, loop: loop, options: options)
      places[place].connection = connection
      connection.connect()
    } catch {
      lastFailure = "\(error)"
      let delay = places[place].delay(
        after: .carried(0), retry: options.retry, chance: random.next())
      options.report(.disconnected(target.endpoint, reason: lastFailure, retryAfter: delay))
      open(place, after: delay)
    }
  }

  private func open(_ place: Int, after delay: Duration) {
    guard !isStopped else { return }
    places[place].opening?.cancel()
    places[place].opening = loop.schedule(after: delay) { [weak self] in self?.open(place) }
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

  /// The connection takes no more pushes: another takes its place while it drains.
  func replace(_ connection: APNsConnection, reason: String) {
    guard let place = place(of: connection) else { return }
    if isOrdinary(place) { options.report(.goingAway(target.endpoint, reason: reason)) }
    retiring.append(connection)
    vacate(place, after: connection, reason: reason)
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
    if mustReplace, let place = place(of: connection) {
      vacate(place, after: connection, reason: reason)
    }
  }

  /// Called now and then, and at a loss.
  func reportLosses() {
    guard let lost = losses.due(at: loop.now) else { return }
    options.report(
      .lost(
        target.endpoint, connections: lost.connections, pushes: lost.pushes, reason: lost.reason))
  }

  private func place(of connection: APNsConnection) -> Int? {
    places.firstIndex { $0.connection === connection }
  }

  private func isOrdinary(_ place: Int) -> Bool { ordinaryPlaces.contains(place) }

  private func vacate(_ place: Int, after connection: APNsConnection, reason: String) {
    places[place].connection = nil
    // Nobody misses a helper who has nothing to do.
    guard isOrdinary(place) || needsHelpers || connection.inFlight > 0 else { return }
    lastFailure = reason
    let end = connection.end(at: loop.now)
    var delay = places[place].delay(after: end, retry: options.retry, chance: random.next())
    if !isOrdinary(place), connection.wasOpened, isTaking {
      places[place].forgive()
      delay = .zero
    }
    if end != .idle, delay > .zero {
      options.report(.disconnected(target.endpoint, reason: reason, retryAfter: delay))
    }
    let isWanted = end == .idle && topics.contains { $0.queue.count > 0 }
    if delay == .zero || isWanted { open(place) } else { open(place, after: delay) }
    noteConnections()
    // Nobody waits a second for a server that has said no.
    if isOrdinary(place), !connection.wasOpened, openConnections == 0 {
      cannotConnect = true
      updateOpenness()
    }
  }
}
