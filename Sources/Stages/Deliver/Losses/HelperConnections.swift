/// Which connections those have that may be why one was lost, and those that were never answered:
/// helpers, or where there is none an ordinary one.
final class HelperConnections {
  private let pool: ConnectionPool
  private let topics: RouteTopics
  private let traffic: RouteTraffic
  private let waiting: RouteWaiting
  private var borrowed = BorrowedConnection()

  init(
    pool: ConnectionPool, topics: RouteTopics, traffic: RouteTraffic, waiting: RouteWaiting
  ) {
    self.pool = pool
    self.topics = topics
    self.traffic = traffic
    self.waiting = waiting
  }

  /// Those for suspects: the other helpers, or half of all while the rest have ordinary pushes.
  var suspectPlaces: Range<Int> {
    let areOthersReady = traffic.isCareful && topics.readyCount > 0
    return pool.places.helpers.prefix(
      areOthersReady ? ConnectionPlaces.helperCount / 2 : ConnectionPlaces.helperCount - 1)
  }

  /// One finds out about a single loss. When there are more, all do; and for each that has no
  /// answer two more do its work.
  func open(_ wanted: Int, at now: UInt64) {
    let isHeldUp = suspectPlaces.count { pool.places[$0].connection?.isHeldUp(at: now) == true }
    let most = traffic.isCareful ? wanted : min(wanted, 1 + 2 * isHeldUp)
    pool.openHelpers(in: pool.places.helpers.prefix(most))
  }

  func openSilent() { pool.openHelpers(in: pool.places.silent..<pool.places.count) }

  /// Suspects can be sent on it, or will be in a moment.
  func isUseful(_ place: Int, at now: UInt64) -> Bool {
    guard let connection = pool.places[place].connection else {
      return pool.places[place].isComing && !pool.places[place].cameToNothing
    }
    guard connection.phase == .open else {
      return !pool.places[place].cameToNothing
        && now &- connection.openedAt < ConnectionWatch.heldUpAfter
    }
    return !connection.isHeldUp(at: now) && (connection.inFlight > 0 || connection.capacity > 0)
  }

  /// Looks whether suspects need an ordinary connection, since there is no helper for them.
  /// - Returns: the one that they have.
  func lend(at now: UInt64) -> (any PushConnection)? {
    let lent = borrowed.place.flatMap { pool.places[$0].connection }
    let isInUse = lent.map { $0.carriesSuspects && $0.inFlight > 0 } ?? false
    let isNeeded =
      waiting.suspectGroups > 0 && !suspectPlaces.contains { isUseful($0, at: now) }
    guard isInUse || isNeeded || borrowed.place != nil else { return nil }
    let candidates = pool.places.ordinary.compactMap { place in
      pool.places[place].connection.flatMap {
        $0.phase == .open ? BorrowedConnection.Candidate(place: place, inFlight: $0.inFlight) : nil
      }
    }
    borrowed.update(
      candidates, isWanted: isInUse || isNeeded, areOthersReady: topics.readyCount > 0, at: now)
    pool.lend(borrowed.place)
    let next = borrowed.place.flatMap { pool.places[$0].connection }
    // From now on others go on it.
    if let lent, lent !== next { lent.carriesSuspects = false }
    return isNeeded ? next : nil
  }

  /// The ordinary connection for what was never answered and finds no helper: always the same, so
  /// that another is left for suspects.
  var host: (any PushConnection)? {
    let others = pool.places.ordinary.filter { $0 != borrowed.place }.compactMap {
      pool.places[$0].connection
    }
    return others.first { $0.silentPushes > 0 } ?? others.max { $0.capacity < $1.capacity }
  }
}
