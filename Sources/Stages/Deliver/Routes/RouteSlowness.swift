/// Whether a route holds up what is sent on others: how long its pushes wait for a stream, and what
/// follows for those that wait for it. Times are monotonic nanoseconds.
final class RouteSlowness {
  private let isFirst: Bool
  private let readyPushes: Int
  private let congestedAfter: UInt64
  private let topics: RouteTopics
  private let obstacles: RouteObstacles

  private var congestion = Congestion()
  /// When it was looked at last and had no connection.
  private var lastUnableAt: UInt64 = 0
  /// When a batch for it came last; 0 when none has.
  private var lastAppendedAt: UInt64 = 0
  /// It is slow, and others go on: those that go there do not wait for it.
  private(set) var yields = false

  init(_ setup: RouteSetup, topics: RouteTopics, obstacles: RouteObstacles) {
    isFirst = setup.isFirst
    readyPushes = setup.options.readyPushes
    congestedAfter = setup.options.congestedAfter.nanoseconds
    self.topics = topics
    self.obstacles = obstacles
  }

  func appended(at now: UInt64) { lastAppendedAt = now }

  /// Pushes were handed to a connection.
  func sent(_ pushes: Int) { congestion.take(pushes) }

  func look(isConnected: Bool, at now: UInt64) {
    // What nothing can be sent over is closed, or will be: that is another matter.
    if !topics.isOpen || !isConnected { lastUnableAt = now }
    congestion.look(
      oldest: topics.oldest.map { max($0, lastUnableAt) }, bound: readyPushes,
      slowAfter: congestedAfter, at: now)
  }

  var isSlow: Bool { topics.isOpen && congestion.isSlow }
  var isLagging: Bool { topics.isOpen && congestion.isLagging }
  /// Also while it is closed.
  var wasLagging: Bool { congestion.isLagging }
  var isHoldingUp: Bool { congestion.isHoldingUp }

  /// Whether somebody could be held up by another route. The first destination of a platform is
  /// what a worker is for; pushes to others are the exception.
  func isInUse(at now: UInt64) -> Bool {
    topics.isOpen
      && (isFirst
        || (lastAppendedAt > 0 && now &- lastAppendedAt < Congestion.memory))
  }

  /// - Returns: whether somebody may wait no longer.
  func set(lags: Bool, yields: Bool) -> Bool {
    topics.set(lags: lags)
    guard yields != self.yields else { return false }
    self.yields = yields
    obstacles.set(isSlow: yields)
    return true
  }
}
