/// Sends pushes that wait apart (`TokenSeparation`) on connections of their own, and sees to it
/// that connections which a server made pay for bad tokens are replaced.
final class UnprovenSender {
  private let pool: ConnectionPool
  private let topics: RouteTopics
  private let traffic: RouteTraffic
  private let separation: TokenSeparation
  private let sender: PushSender

  init(
    pool: ConnectionPool, topics: RouteTopics, traffic: RouteTraffic, separation: TokenSeparation,
    sender: PushSender
  ) {
    self.pool = pool
    self.topics = topics
    self.traffic = traffic
    self.separation = separation
    self.sender = sender
  }

  func fill(_ round: PushSender.Round) {
    guard topics.apartCount > 0 else { return }
    pool.openHelpers(in: pool.places.unproven)
    for place in pool.places.unproven {
      if let connection = pool.places[place].connection { fill(connection, round) }
    }
  }

  private func fill(_ connection: any PushConnection, _ round: PushSender.Round) {
    guard connection.isProven(at: round.now) else { return }
    var room = min(
      connection.capacity, traffic.inFlightLimit(at: round.now) - connection.inFlight)
    while room > 0, let (topic, run) = separation.next() {
      guard sender.mayGo(run.first, round) else {
        sender.withholdFirst(of: run, topic, round)
        continue
      }
      guard sender.dispatch(run, of: topic, on: connection, round) > 0 else { return }
      separation.sentApart(at: round.now)
      room -= 1
    }
  }

  /// Where a server took streams from a connection that are needed, another begins with all of
  /// them, as often as `ConnectBudget` allows: until then this one goes on. The one that has the
  /// fewest comes first. Called when all is handed out.
  func replaceCut(at now: UInt64) {
    guard traffic.isolation.isWatching else { return }
    let places = pool.places.ordinary.lowerBound..<pool.places.unproven.upperBound
    let used = places.filter { isUsedUp($0, at: now) }
    guard let place = used.min(by: { streams($0) < streams($1) }),
      pool.mayReplace(place, at: now)
    else { return }
    pool.places[place].connection?
      .retire("the server took streams from it for tokens that it rejected there")
  }

  /// It was cut and takes nothing more, and pushes wait for it.
  private func isUsedUp(_ place: Int, at now: UInt64) -> Bool {
    guard let connection = pool.places[place].connection, connection.phase == .open,
      connection.cut.isCut, connection.capacity == 0
    else { return false }
    return pool.places.unproven.contains(place)
      ? topics.apartCount > 0 : topics.sendableCount(at: now) > 0
  }

  private func streams(_ place: Int) -> Int { pool.places[place].connection?.cut.streams ?? 0 }
}
