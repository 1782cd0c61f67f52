import Model

/// Separates pushes to tokens of which nothing is known from the others while that is called for,
/// so that what is rejected of them costs nobody else a stream. What makes sure that nobody waits
/// for ever:
///
/// - A push that is apart is in the `apart` of its topic's `ReadyQueue` and nowhere else, and so in
///   everything that is done to, or counted of, what is ready: it leaves with its segment, expires,
///   is cancelled, parked, and is `unsent` until it was sent.
/// - It is apart for `longestApart` once at most, and then goes with all others, whatever the
///   connections do. Nothing but a look at the clock brings it back, twice a second.
/// - There is room for `UnprovenQueue.maximum`. Where there is none left, unknown tokens go with
///   the others: no push ever waits for another to leave it.
/// - Where none was sent apart as long as one waited, nobody is set apart for a while; nor
///   where something other than streams is short, while a rate bounds what is sent, or connections
///   are lost; or where credentials are in doubt.
final class TokenSeparation {
  /// As long as others wait for the answer of a suspect. Connecting takes less.
  static let longestApart = ConnectionWatch.heldUpAfter

  private let topics: RouteTopics
  private let traffic: RouteTraffic
  private var isolation: TokenIsolation { traffic.isolation }
  /// When a push was sent apart last.
  private var sentAt: UInt64 = 0

  init(topics: RouteTopics, traffic: RouteTraffic) {
    self.topics = topics
    self.traffic = traffic
  }

  /// Called before pushes are handed out: brings back those that have waited long enough.
  /// - Returns: whether pushes are separated in this round.
  func begin(at now: UInt64) -> Bool {
    guard isolation.isWatching || topics.apartCount > 0 else { return false }
    if let oldest = topics.oldestApart?.since, isOver(oldest, now), sentAt < oldest {
      isolation.rest(at: now)
    }
    let isSeparating =
      isolation.isOn(at: now) && traffic.overload.rate == nil && !traffic.isCareful
    for topic in topics.all where topic.queue.apart.count > 0 {
      let mayStay = isSeparating && maySeparate(topic)
      topic.queue.rejoin { !mayStay || isOver($0, now) }
    }
    return isSeparating
  }

  private func isOver(_ since: UInt64, _ now: UInt64) -> Bool { now >= since &+ Self.longestApart }

  private func maySeparate(_ topic: TopicQueue) -> Bool { topic.isOpen && topic.gate.isOpen }

  /// What of a run that is next goes where all go; nil: what came first waits apart now.
  func separate(_ run: ReadyRun, of topic: TopicQueue, at now: UInt64) -> ReadyRun? {
    let room = UnprovenQueue.maximum - topics.apartCount
    guard room > 0, maySeparate(topic), run.maySeparate else { return run }
    let (count, areKnown) = isolation.look(at: run)
    guard !areKnown else { return ReadyRun(run.first, count: count, from: run.place) }
    let separated = min(count, room)
    topic.queue.setApart(run, separated, at: now)
    topics.took(separated)
    return nil
  }

  /// The one that has waited longest apart.
  func next() -> (topic: TopicQueue, run: ReadyRun)? {
    guard let topic = topics.oldestApart?.topic, let push = topic.queue.apart.first else {
      return nil
    }
    return (topic, ReadyRun(push, from: .apart))
  }

  func sentApart(at now: UInt64) { sentAt = now }
}

extension ReadyRun {
  /// Those that a limit may hold up stay where limits look for them; and who has waited apart has
  /// waited.
  fileprivate var maySeparate: Bool {
    switch place {
    case .returned, .batches: !first.hasWaitedApart && first.tally.fanOut.limits.isEmpty
    case .refusedFirst, .refusedLast, .apart, .elsewhere: false
    }
  }
}
