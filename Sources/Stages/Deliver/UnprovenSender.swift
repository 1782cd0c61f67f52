import Model

/// Parts pushes to tokens of which nothing is known from the others while that is called for
/// (`TokenIsolation`), and sends them on connections of their own: what is rejected there costs
/// nobody else a stream.
final class UnprovenSender {
  enum Part {
    /// As much of the run goes where all go.
    case here(ReadyRun)
    /// So many wait for a connection of their own.
    case apart(Int)
    /// There is no room for them, and nothing behind them goes before.
    case full
  }

  private let pool: ConnectionPool
  private let topics: RouteTopics
  private let traffic: RouteTraffic
  private let waiting: RouteWaiting
  private var isolation: TokenIsolation { traffic.isolation }

  init(
    pool: ConnectionPool, topics: RouteTopics, traffic: RouteTraffic, waiting: RouteWaiting
  ) {
    self.pool = pool
    self.topics = topics
    self.traffic = traffic
    self.waiting = waiting
  }

  /// A server made a connection pay for what was rejected on it. From now on pushes part; and where
  /// it took streams from it that are needed, another connection begins with all of them, as often
  /// as `ConnectBudget` allows: until then this one goes on.
  func wasPunished(_ connection: any PushConnection, at now: UInt64) {
    isolation.begin(at: now)
    guard connection.phase == .open else { return }
    let isApart = pool.unprovenPlaces.contains { pool.places[$0].connection === connection }
    let ready = isApart ? waiting.unprovenCount : topics.readyCount
    guard ready > connection.capacity, pool.mayReplace(connection) else { return }
    connection.retire("the server took streams from it for what it rejected there")
  }

  /// What becomes of a run that is next. Those of a fan-out that limits hold up are not parted:
  /// what waits here has a place in no line that a limit looks at, and they are few. Nor are those
  /// that ask whether credentials are taken.
  func part(_ run: ReadyRun, of topic: TopicQueue) -> Part {
    let fanOut = run.first.tally.fanOut
    guard topic.gate.isOpen, fanOut.allowance == .max else { return .here(run) }
    let (count, areKnown) = isolation.look(at: run)
    let room = waiting.unprovenRoom
    guard areKnown || (room == 0 && isolation.areMostUnknown) else {
      guard room > 0 else { return .full }
      let parted = min(count, room)
      isolation.note(parted, areKnown: false)
      setApart(run, parted, topic)
      return .apart(parted)
    }
    isolation.note(count, areKnown: areKnown)
    return .here(ReadyRun(run.first, count: count, from: run.place))
  }

  private func setApart(_ run: ReadyRun, _ count: Int, _ topic: TopicQueue) {
    topic.queue.drop(run, count)
    topic.left(run.first, count: count)
    for offset in 0..<count {
      var push = run.first
      push.index += offset
      // `unsent` does not count it any more.
      push.isFirst = false
      waiting.wait(unproven: push)
    }
  }

  /// Sends those that wait.
  func fill(_ sender: PushSender, _ round: PushSender.Round) {
    guard waiting.unprovenCount > 0 else { return }
    pool.openHelpers(in: pool.unprovenPlaces)
    var isUseful = false
    for place in pool.unprovenPlaces {
      isUseful = pool.isUseful(place, at: round.now) || isUseful
      if let connection = pool.places[place].connection { fill(connection, sender, round) }
    }
    guard !isUseful else { return }
    isolation.pause(at: round.now)
    waiting.returnUnproven()
  }

  private func fill(
    _ connection: any PushConnection, _ sender: PushSender, _ round: PushSender.Round
  ) {
    guard connection.capacity > 0, connection.isProven(at: round.now) else { return }
    var room = min(
      connection.capacity, traffic.inFlightLimit(at: round.now) - connection.inFlight,
      traffic.allowance(ready: waiting.unprovenCount, at: round.now))
    while room > 0, let push = waiting.nextUnproven() {
      guard sender.mayGo(push, round) else {
        sender.withhold(push, round)
        continue
      }
      let topic = topics.topic(named: push.topic)
      guard topic.gate.isOpen else {
        // With the others of its topic it waits for credentials.
        topic.take(push)
        continue
      }
      guard sender.dispatch(ReadyRun(push), of: topic, on: connection, round) > 0 else {
        return waiting.putBack(unproven: push)
      }
      room -= 1
    }
  }
}
