/// Whether a route holds up pushes of others: how long its own wait for a stream, and the
/// consequence for batches that wait for it. Times are monotonic nanoseconds.
final class RouteCongestion {
  private let context: RouteContext
  private var congestion = Congestion()
  /// When it was observed last and had no connection.
  private var lastUnableAt: UInt64 = 0
  /// It is slow, and others go on: segments keep no slots for its pushes, and no batch waits for it
  /// on the way to those.
  private(set) var yields = false

  init(_ context: RouteContext) { self.context = context }

  func observe(isConnected: Bool, at now: UInt64) {
    // A route over which nothing can be sent is closed, or will be: that is another matter.
    if !context.queue.isOpen || !isConnected { lastUnableAt = now }
    congestion.observe(
      oldest: context.queue.oldest.map { max($0, lastUnableAt) },
      slowAfter: context.options.congestedAfter.nanoseconds, at: now)
  }

  /// Whether it takes pushes that another route could hold up. A worker is there for the first
  /// destination of a platform; pushes to others are the exception.
  func goesOn(at now: UInt64) -> Bool {
    let lastSentAt = context.traffic.lastSentAt
    let isInUse = context.isFirst || (lastSentAt > 0 && now &- lastSentAt < Evidence.briefMemory)
    return context.queue.isOpen && isInUse && !congestion.isHoldingUp
  }

  func set(othersGoOn: Bool) {
    let yields = othersGoOn && context.queue.isOpen && congestion.isSlow
    guard yields != self.yields else { return }
    self.yields = yields
    context.queue.set(yields: yields)
    context.obstacles.set(isSlow: yields)
    context.signals.whenReadyMayHaveShrunk()
  }
}

/// Whether a route takes pushes more slowly than they come, so that they wait for a stream. A pure
/// machine; times are monotonic nanoseconds.
struct Congestion {
  /// A route that was slow is slow for a while longer: an empty queue says nothing, since no batch
  /// waits for it meanwhile.
  private var lastSlow: UInt64?
  /// When it was observed last, pushes had waited too long.
  private(set) var isHoldingUp = false

  /// Pushes wait too long for a batch to wait for them.
  var isSlow: Bool { lastSlow != nil }

  /// - Parameter oldest: since when the push that is sent next has been ready; nil when none is.
  mutating func observe(oldest: UInt64?, slowAfter: UInt64, at now: UInt64) {
    isHoldingUp = oldest.map { now > $0 && now - $0 >= slowAfter } ?? false
    if isHoldingUp {
      lastSlow = now
    } else if let lastSlow, now &- lastSlow >= Evidence.briefMemory {
      self.lastSlow = nil
    }
  }
}
