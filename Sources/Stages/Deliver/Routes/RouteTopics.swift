import Model

/// What a route has ready: a queue for each topic, and topics take turns.
final class RouteTopics {
  private let destination: Destination
  private(set) var all: [TopicQueue] = []
  /// Which topic's turn it is, and how many pushes it may still send.
  private struct Turn {
    var index = 0
    var left = 0
  }

  private var turn = Turn()
  /// Pushes of the route can be sent: admission waits for room, and `SegmentTally.unsent` counts.
  private(set) var isOpen = true
  /// The route lags behind others that are in use: segments keep no places for it.
  private(set) var lags = false
  let stuck = StuckFanOuts()

  /// Topics, and in them fan-outs, take turns by so many pushes: a change costs a change of
  /// headers.
  static let pushesPerTurn = 32
  /// Those who have less than a turn here are let in up to so many times `readyPushes`.
  static let roomsOfNewcomers = 4
  /// Topics that are remembered though nothing of theirs is here.
  static let maximumIdleTopics = 256

  init(destination: Destination) { self.destination = destination }

  // MARK: what is here

  var hasPushes: Bool { all.contains { $0.queue.count > 0 } }

  /// Pushes that can be sent and wait for a stream.
  var readyCount: Int {
    isOpen ? all.reduce(0) { $0 + ($1.isOpen ? $1.queue.count : 0) } : 0
  }

  /// Pushes that wait for a stream or for their turn alone, also of topics of which only a few may
  /// go now, to ask whether credentials are taken.
  func sendableCount(at now: UInt64) -> Int {
    all.reduce(0) { $0 + ($1.canSend(at: now) ? $1.queue.sendable : 0) }
  }

  /// Once all is handed out that may go: whether pushes wait for a stream alone. Those of topics
  /// whose credentials are in doubt wait for others' answers.
  var waitForStreams: Bool {
    isOpen && all.contains { $0.isOpen && $0.gate.isOpen && $0.queue.sendable > 0 }
  }

  /// Pushes of topics or of a route that is closed.
  var parkedCount: Int { all.reduce(0) { $0 + ($1.isOpen ? 0 : $1.queue.count) } }

  /// Whether a batch of a fan-out of this topic should wait for room. Never for what could not be
  /// sent anyway. Each fan-out has its share of the room, small ones of a room of their own. Where
  /// others have taken it all, there is more for those who have less than a turn here, so that
  /// nobody waits for what another cannot get rid of: enough for a batch of each place of a lane.
  /// Those who get nowhere, and those whom a limit holds up, have rooms of their own as well.
  func isFull(for name: String, of fanOut: FanOut, readyPushes: Int) -> Bool {
    guard isOpen else { return false }
    let topic = find(name)
    if let topic {
      guard topic.isOpen else { return false }
      if !topic.gate.isOpen { return topic.queue.count >= readyPushes }
    }
    let own = topic?.queue.count(of: fanOut) ?? 0
    let room = FanOutLine.Room(fanOut, isStuck: stuck.contains(fanOut))
    var fresh = 0
    var fanOuts = 0
    // What waits for a topic's credentials to be found good takes nobody else's room, and what
    // came back takes that of its own fan-out alone.
    for topic in all where topic.isOpen && topic.gate.isOpen {
      let sharing = topic.queue.sharing(room)
      fresh += sharing.fresh
      fanOuts += sharing.fanOuts
    }
    guard own >= min(Self.pushesPerTurn, readyPushes) else {
      return fresh >= Self.roomsOfNewcomers * readyPushes
    }
    return fresh >= readyPushes || own >= readyPushes / max(1, fanOuts)
  }

  /// Since when the push that waits longest for its first try has been ready; nil when none does.
  var oldest: UInt64? {
    all.lazy.filter { $0.isOpen && $0.gate.isOpen }.compactMap(\.queue.oldest).min()
  }

  /// When a topic is looked at again of which nothing may be sent now.
  func opensAt(after now: UInt64) -> UInt64? {
    var due: UInt64?
    for topic in all where topic.queue.count > 0 {
      if let opensAt = topic.gate.opensAt, opensAt > now { due = min(due ?? .max, opensAt) }
    }
    return due
  }

  // MARK: topics

  func find(_ name: String) -> TopicQueue? { all.first { $0.name == name } }

  func topic(named name: String) -> TopicQueue {
    if let topic = all.last, topic.name == name { return topic }
    if let topic = find(name) { return topic }
    let topic = TopicQueue(name: name, destination: destination, isOpen: isOpen, stuck: stuck)
    topic.set(open: isOpen, lags: lags)
    all.append(topic)
    return topic
  }

  /// - Parameter closedAfter: nanoseconds in which those that ask should have their answers.
  func set(isOpen: Bool, closedAfter: UInt64, at now: UInt64) {
    self.isOpen = isOpen
    for topic in all {
      let isClosed = topic.gate.isClosed(at: now, after: closedAfter)
      topic.set(open: isOpen && !isClosed, lags: lags)
    }
  }

  func set(lags: Bool) {
    guard lags != self.lags else { return }
    self.lags = lags
    for topic in all { topic.set(open: topic.isOpen, lags: lags) }
  }

  func set(stuck fanOuts: [FanOut]) {
    guard !stuck.isSame(as: fanOuts) else { return }
    let before = all.map(\.firsts)
    stuck.replace(by: fanOuts)
    for (topic, firsts) in zip(all, before) {
      topic.queue.sort()
      topic.count(since: firsts)
    }
  }

  /// - Returns: the topics that are no longer known.
  func forget(at now: UInt64) -> [TopicQueue] {
    let idle = all.count { $0.queue.count == 0 }
    var forgotten: [TopicQueue] = []
    all.removeAll { topic in
      let isForgotten =
        topic.isForgettable(at: now)
        || (idle > Self.maximumIdleTopics && topic.queue.count == 0 && topic.gate.isOpen)
      if isForgotten { forgotten.append(topic) }
      return isForgotten
    }
    return forgotten
  }

  // MARK: turns

  /// The topic of which pushes are sent next, and how many.
  /// - Parameter length: pushes of a turn that begins.
  func next(
    at now: UInt64, length: Int = RouteTopics.pushesPerTurn
  ) -> (topic: TopicQueue, left: Int)? {
    turn.left = min(turn.left, length)
    if turn.left > 0, turn.index < all.count, all[turn.index].canSend(at: now) {
      return (all[turn.index], turn.left)
    }
    for _ in all.indices {
      turn.index = (turn.index + 1) % all.count
      if all[turn.index].canSend(at: now) {
        turn.left = length
        return (all[turn.index], length)
      }
    }
    return nil
  }

  /// More could be sent: fan-outs that limits hold up say so.
  func lack() {
    for topic in all where topic.isOpen && topic.gate.isOpen { topic.queue.lack() }
  }

  /// Pushes of a topic's turn have gone.
  func took(_ pushes: Int) { turn.left -= pushes }

  // MARK: those that ask

  /// Every push that comes back from a connection without having been accepted passes here.
  func back(_ push: ReadyPush) -> ReadyPush {
    guard push.isProbe else { return push }
    topic(named: push.topic).gate.probeReturned()
    var push = push
    push.isProbe = false
    return push
  }
}
