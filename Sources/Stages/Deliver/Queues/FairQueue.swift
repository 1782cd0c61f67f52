import Model

/// The pushes of a route that can be sent. Deficit round robin at two levels: topics take turns
/// here, and in each topic (`TopicQueue`) its fan-outs (`FanOutQueue`).
final class FairQueue {
  /// Pushes of a topic's turn, and in it of a fan-out's: a change costs a change of headers.
  static let pushesPerTurn = 32
  /// Fan-outs that have less than a turn here are admitted up to so many times `readyPushes`.
  static let newcomersFactor = 4

  /// Of the pushes that belong here; see `PushBatch.Entry`.
  private let route: UInt16
  private(set) var topics: [TopicQueue] = []
  /// The index of the topic that has the turn, and pushes that are left of it.
  private var current = 0
  private var left = 0
  /// The route can send: admission waits for capacity, and `SegmentTally.unsent` counts its pushes.
  private(set) var isOpen = true
  /// The route is slow, and others go on: segments keep no slots for it.
  private(set) var yields = false
  let outliers = Outliers()

  init(route: UInt16) { self.route = route }

  // MARK: what is here

  var hasPushes: Bool { topics.contains { $0.count > 0 } }

  /// Pushes that can be sent and wait for a stream.
  var readyCount: Int { isOpen ? topics.reduce(0) { $0 + ($1.isOpen ? $1.count : 0) } : 0 }

  /// Pushes that wait for a stream or for their turn alone, also of topics of which only a few may
  /// go now, to ask whether credentials are taken.
  func sendableCount(at now: UInt64) -> Int {
    topics.reduce(0) { $0 + ($1.canSend(at: now) ? $1.sendable : 0) }
  }

  /// Topics that nothing is known against.
  private var trusted: some Sequence<TopicQueue> {
    topics.lazy.filter { $0.isOpen && $0.gate.isOpen }
  }

  /// Once all is handed out that may go: whether pushes wait for a stream alone. Those of topics
  /// whose credentials are in doubt wait for others' answers.
  var waitsForStreams: Bool { isOpen && trusted.contains { $0.sendable > 0 } }

  /// Pushes of topics or of a route that is closed.
  var parkedCount: Int { topics.reduce(0) { $0 + ($1.isOpen ? 0 : $1.count) } }

  /// Whether a batch of a fan-out of this topic should wait:
  /// - never while the route or the topic is closed;
  /// - while credentials are in doubt, if the topic alone has `readyPushes`;
  /// - else if the fan-outs that share its capacity have `readyPushes`, or it has an equal part;
  /// - with less than a turn here, only at `newcomersFactor` times as many: a new event does not
  ///   wait until another has sent what it has queued.
  func isFull(for name: String, of fanOut: FanOut, readyPushes: Int) -> Bool {
    guard isOpen else { return false }
    let topic = find(name)
    if let topic {
      guard topic.isOpen else { return false }
      if !topic.gate.isOpen { return topic.count >= readyPushes }
    }
    let own = topic?.count(of: fanOut) ?? 0
    let isOutlier = outliers.contains(fanOut)
    let share = fanOut.isShort ? nil : FanOutQueue.TrafficClass(fanOut, isOutlier: isOutlier)
    var fresh = 0
    var fanOuts = 0
    // Pushes that wait for a topic's credentials take nobody else's capacity, and pushes that came
    // back take that of their own fan-out alone.
    for topic in trusted {
      let sharing = topic.sharing(share)
      fresh += sharing.fresh
      fanOuts += sharing.fanOuts
    }
    guard own >= min(Self.pushesPerTurn, readyPushes) else {
      return fresh >= Self.newcomersFactor * readyPushes
    }
    return fresh >= readyPushes || own >= readyPushes / max(1, fanOuts)
  }

  /// Since when the push that waits longest for its first try has been ready; nil when none does.
  var oldest: UInt64? { trusted.compactMap(\.oldest).min() }

  /// When a topic of which nothing may be sent now is tried again.
  func opensAt(after now: UInt64) -> UInt64? {
    topics.lazy.filter { $0.count > 0 }.compactMap(\.gate.opensAt).filter { $0 > now }.min()
  }

  // MARK: topics

  func find(_ name: String) -> TopicQueue? { topics.first { $0.name == name } }

  func topic(named name: String) -> TopicQueue {
    if let topic = topics.last, topic.name == name { return topic }
    if let topic = find(name) { return topic }
    let topic = TopicQueue(name: name, route: route, isOpen: isOpen, outliers: outliers)
    topic.set(open: isOpen, yields: yields)
    topics.append(topic)
    return topic
  }

  /// - Parameter closedAfter: nanoseconds in which those that ask should have their answers.
  func set(isOpen: Bool, closedAfter: UInt64, at now: UInt64) {
    self.isOpen = isOpen
    for topic in topics {
      let isClosed = topic.gate.isClosed(at: now, after: closedAfter)
      topic.set(open: isOpen && !isClosed, yields: yields)
    }
  }

  func set(yields: Bool) {
    guard yields != self.yields else { return }
    self.yields = yields
    for topic in topics { topic.set(open: topic.isOpen, yields: yields) }
  }

  func set(outliers fanOuts: [FanOut]) {
    guard !outliers.isSame(as: fanOuts) else { return }
    let before = topics.map(\.firsts)
    outliers.replace(by: fanOuts)
    for (topic, firsts) in zip(topics, before) {
      topic.classify()
      topic.recount(since: firsts)
    }
  }

  /// - Returns: the topics that are no longer known.
  func forget(at now: UInt64) -> [TopicQueue] {
    let idle = topics.count { $0.count == 0 }
    let forgotten = topics.filter {
      $0.isForgettable(at: now)
        || (idle > Evidence.mostRemembered && $0.count == 0 && $0.gate.isOpen)
    }
    topics.removeAll { topic in forgotten.contains { $0 === topic } }
    return forgotten
  }

  // MARK: turns

  /// The topic of which pushes are sent next, and how many.
  /// - Parameter length: pushes of a turn that begins.
  func next(
    at now: UInt64, length: Int = FairQueue.pushesPerTurn
  ) -> (topic: TopicQueue, left: Int)? {
    left = min(left, length)
    if left > 0, current < topics.count, topics[current].canSend(at: now) {
      return (topics[current], left)
    }
    for _ in topics.indices {
      current = (current + 1) % topics.count
      if topics[current].canSend(at: now) {
        left = length
        return (topics[current], length)
      }
    }
    return nil
  }

  /// More could be sent: fan-outs that limits hold up take note.
  func lack() { for topic in trusted { topic.lack() } }

  /// Pushes of a topic's turn have gone.
  func took(_ pushes: Int) { left -= pushes }

  // MARK: credential checks

  /// Every push that comes back from a connection without having been accepted passes here.
  func back(_ push: ReadyPush) -> ReadyPush {
    guard push.isCredentialCheck else { return push }
    topic(named: push.topic).gate.checkReturned()
    var push = push
    push.isCredentialCheck = false
    return push
  }
}
