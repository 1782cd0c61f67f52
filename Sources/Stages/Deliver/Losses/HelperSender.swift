import Model

/// Hands out pushes to the helpers: suspects first, a group at a time, and ordinary ones to those
/// that have none while connections are lost often.
final class HelperSender {
  private let pool: ConnectionPool
  private let connections: HelperConnections
  private let topics: RouteTopics
  private let traffic: RouteTraffic
  private let waiting: RouteWaiting
  private let sender: PushSender
  /// When those that were never answered may go beside others again.
  private var nextGuestsAt: UInt64 = 0
  private static let betweenGuests: UInt64 = 250_000_000
  /// They take one in so many streams of a connection.
  private static let guests = 4

  init(
    pool: ConnectionPool, topics: RouteTopics, traffic: RouteTraffic, waiting: RouteWaiting,
    sender: PushSender
  ) {
    self.pool = pool
    connections = HelperConnections(
      pool: pool, topics: topics, traffic: traffic, waiting: waiting)
    self.topics = topics
    self.traffic = traffic
    self.waiting = waiting
    self.sender = sender
  }

  /// Sends what may be why a connection was lost, a group at a time on each connection; and what
  /// was never answered.
  func fillSuspects(_ round: PushSender.Round) {
    if waiting.suspectGroups > 0 {
      connections.open(waiting.suspectGroups, at: round.now)
      for place in connections.suspectPlaces {
        if let connection = pool.places[place].connection { sendGroup(on: connection, round) }
      }
    }
    if let lent = connections.lend(at: round.now) { sendGroup(on: lent, round) }
    if waiting.silentCount > 0 { fillSilent(round) }
  }

  private func sendGroup(on connection: any PushConnection, _ round: PushSender.Round) {
    guard waiting.suspectGroups > 0, connection.inFlight == 0,
      connection.isProven(at: round.now), connection.hasWindow()
    else { return }
    if let push = waiting.nextLikely, !isFit(connection, for: push) {
      connection.retire("a push that was lost alone goes on a new connection")
      return
    }
    connection.carriesSuspects = true
    let isFresh = connection.isFresh
    let group = waiting.nextSuspects(atMost: connection.capacity)
    for var push in group {
      push.loss.sent(
        isAlone: group.count == 1, isFresh: isFresh, takenBefore: connection.takenBefore)
      send(push, on: connection, round)
    }
  }

  /// Those that were never answered go together on a helper of their own, so that they take no
  /// stream from others; or a few of them beside others, where there is none.
  private func fillSilent(_ round: PushSender.Round) {
    connections.openSilent()
    if let connection = pool.places[pool.places.silent].connection, connection.phase == .open {
      guard connection.isProven(at: round.now), connection.hasWindow() else { return }
      connection.carriesSuspects = true
      return sendSilent(atMost: connection.capacity, on: connection, round)
    }
    guard !connections.isUseful(pool.places.silent, at: round.now), round.now >= nextGuestsAt,
      let host = connections.host
    else { return }
    nextGuestsAt = round.now &+ Self.betweenGuests
    let room = host.capacity / Self.guests - host.silentPushes
    sendSilent(atMost: room, on: host, round)
  }

  private func sendSilent(
    atMost limit: Int, on connection: any PushConnection, _ round: PushSender.Round
  ) {
    let silent = waiting.nextSilent(atMost: limit)
    if !silent.isEmpty { connection.carriesSilent = true }
    for var push in silent {
      push.loss.sentAsSilent()
      send(push, on: connection, round)
    }
  }

  /// Whether it shows something if a push is lost on it that was lost alone before: a connection
  /// that has carried others may be about to be closed, and one that is older than the last good
  /// news may be of a time when the server was out of order.
  private func isFit(_ connection: any PushConnection, for push: ReadyPush) -> Bool {
    guard connection.isFresh else { return false }
    return connection.takenBefore > push.loss.lastAt
      || traffic.lastAcceptedAt <= push.loss.lastAt
  }

  private func send(
    _ push: ReadyPush, on connection: any PushConnection, _ round: PushSender.Round
  ) {
    let topic = topics.topic(named: push.topic)
    guard sender.mayGo(push, round) else { return sender.withhold(push, round) }
    guard topic.gate.allows(at: round.now, hasUntried: push.history.refusals == 0) else {
      // One that was never refused may ask sooner than a hold ends.
      let opensAt = push.history.refusals > 0 ? topic.gate.opensAt ?? 0 : 0
      return waiting.wait(push, until: max(opensAt, round.now &+ CredentialGate.askAgainAfter))
    }
    guard connection.hasWindow() else { return waiting.putBack(suspect: push) }
    // It never stood in the topic's queue, so that `unsent` does not count it.
    var suspect = push
    suspect.isFirst = false
    if sender.dispatch(ReadyRun(suspect), of: topic, on: connection, round) == 0 {
      waiting.putBack(suspect: push)
    }
  }

  /// Helpers without suspects take ordinary pushes.
  func fillHelpers(_ round: PushSender.Round) {
    guard topics.readyCount > 0 else { return }
    connections.open(ConnectionPlaces.helperCount, at: round.now)
    for place in pool.places.helpers
    where waiting.suspectCount == 0 || !connections.suspectPlaces.contains(place) {
      guard let connection = pool.places[place].connection else { continue }
      if connection.inFlight == 0 { connection.carriesSuspects = false }
      if !connection.carriesSuspects { sender.fill(connection, round) }
    }
  }
}
