import EventLoop
import Model

/// Connections beside the ordinary ones, for trouble: they find out which push closes connections,
/// and spread what is in flight while many do, so that little is lost with each.
extension Route {
  /// With the ordinary two, four times as much as goes over these with the same window; Apple asks
  /// to spread pushes over connections, but not to open many at once.
  static let helpers = 6
  /// In nanoseconds: when a push was accepted not longer ago, the server is in order.
  private static let takingFor: UInt64 = 2_000_000_000

  private var helperPlaces: Range<Int> { options.connectionsPerRoute..<places.count }

  /// Those for suspects: all helpers, or half of them while the others have ordinary pushes.
  private var suspectPlaces: Range<Int> {
    let areOthersReady = isCareful && readyCount > 0
    return helperPlaces.prefix(areOthersReady ? Self.helpers / 2 : Self.helpers)
  }

  var isCareful: Bool { window.isCareful(streams: options.streamsPerConnection) }

  var isTaking: Bool { loop.now &- lastAcceptedAt < Self.takingFor }

  var needsHelpers: Bool { suspects.count > 0 || (isCareful && readyCount > 0) }

  /// One finds out about a single loss. When there are more, all do.
  private func openHelpers(_ wanted: Int) {
    for place in helperPlaces.prefix(isCareful ? wanted : min(wanted, 1))
    where places[place].connection == nil && places[place].opening == nil {
      open(place)
    }
  }

  /// Sends what may be why a connection was lost, a group at a time on each connection.
  func fillSuspects(_ round: Round) {
    openHelpers(suspects.groupCount)
    for place in suspectPlaces {
      guard let connection = places[place].connection, connection.inFlight == 0,
        connection.isProven(at: round.now), connection.hasWindow()
      else { continue }
      if let push = suspects.nextLikely, !isFit(connection, for: push) {
        connection.retire("a push that was lost alone goes on a new connection")
        continue
      }
      connection.carriesSuspects = true
      let isFresh = connection.isFresh
      let group = suspects.nextGroup(atMost: connection.capacity)
      for var push in group {
        push.loss.sent(
          isAlone: group.count == 1, isFresh: isFresh, takenBefore: connection.takenBefore)
        send(push, on: connection, round)
      }
    }
  }

  /// Whether it shows something if a push is lost on it that was lost alone before: a connection
  /// that has carried others may be about to be closed, and one that is older than the last good
  /// news may be of a time when the server was out of order.
  private func isFit(_ connection: APNsConnection, for push: ReadyPush) -> Bool {
    guard connection.isFresh else { return false }
    return connection.takenBefore > push.loss.lastAt || lastAcceptedAt <= push.loss.lastAt
  }

  private func send(_ push: ReadyPush, on connection: APNsConnection, _ round: Round) {
    let topic = topic(named: push.topic)
    guard mayGo(push, round) else { return withhold(push, round) }
    guard topic.gate.allows(at: round.now, hasUntried: push.history.refusals == 0) else {
      // One that was never refused may ask sooner than a hold ends.
      let opensAt = push.history.refusals > 0 ? topic.gate.opensAt ?? 0 : 0
      return wait(push, until: max(opensAt, round.now &+ CredentialGate.askAgainAfter))
    }
    guard connection.hasWindow() else { return suspects.append([push]) }
    // It never stood in the topic's queue, so that `unsent` does not count it.
    var suspect = push
    suspect.isFirst = false
    if dispatch(ReadyRun(suspect), of: topic, on: connection, round) == 0 {
      suspects.append([push])
    }
  }

  /// Helpers without suspects take ordinary pushes.
  func fillHelpers(_ round: Round) {
    guard readyCount > 0 else { return }
    openHelpers(helperPlaces.count)
    for place in helperPlaces where suspects.count == 0 || !suspectPlaces.contains(place) {
      guard let connection = places[place].connection else { continue }
      if connection.inFlight == 0 { connection.carriesSuspects = false }
      if !connection.carriesSuspects { fill(connection, round) }
    }
  }

  /// A helper goes when it has had nothing to do for a while.
  func closeIdleHelpers(_ now: UInt64) {
    guard suspects.count == 0 else { return }
    for place in helperPlaces {
      guard let connection = places[place].connection, connection.inFlight == 0,
        now &- connection.lastUsedAt > 30_000_000_000
      else { continue }
      connection.retire("no suspects left")
    }
  }
}
