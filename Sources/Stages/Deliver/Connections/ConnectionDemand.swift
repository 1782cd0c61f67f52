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
