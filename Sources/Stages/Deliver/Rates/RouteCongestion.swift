/// Whether a route holds up pushes of others: how long its own wait for a stream, and the
/// consequence for batches that wait for it. Times are monotonic nanoseconds.
final class RouteCongestion {
  private let context: RouteContext
  private var congestion = Congestion()
  /// When it was observed last and had no connection.
  private var lastUnableAt: UInt64 = 0
  /// When a batch for it came last; 0 when none has.
  private var lastAppendedAt: UInt64 = 0
  /// It is slow, and others go on: no batch waits for it on the way to those.
  private(set) var yields = false

  init(_ context: RouteContext) { self.context = context }

  func appended(at now: UInt64) { lastAppendedAt = now }

  /// Pushes were handed to a connection.
  func sent(_ pushes: Int) { congestion.take(pushes) }

  func observe(isConnected: Bool, at now: UInt64) {
    // A route over which nothing can be sent is closed, or will be: that is another matter.
    if !context.queue.isOpen || !isConnected { lastUnableAt = now }
    congestion.observe(
      oldest: context.queue.oldest.map { max($0, lastUnableAt) },
      bound: context.options.readyPushes,
      slowAfter: context.options.congestedAfter.nanoseconds, at: now)
  }

  var isSlow: Bool { context.queue.isOpen && congestion.isSlow }
  var isLagging: Bool { context.queue.isOpen && congestion.isLagging }
  /// Also while it is closed.
  var wasLagging: Bool { congestion.isLagging }
  var isHoldingUp: Bool { congestion.isHoldingUp }

  /// Whether another route could hold up its pushes. A worker is there for the first destination of
  /// a platform; pushes to others are the exception.
  func isInUse(at now: UInt64) -> Bool {
    context.queue.isOpen
      && (context.isFirst || (lastAppendedAt > 0 && now &- lastAppendedAt < Congestion.memory))
  }

  func set(lags: Bool, yields: Bool) {
    context.queue.set(lags: lags)
    guard yields != self.yields else { return }
    self.yields = yields
    context.obstacles.set(isSlow: yields)
    context.signals.whenReadyMayHaveShrunk()
  }
}

/// Whether a route takes pushes more slowly than they come, so that they wait for a stream. A pure
/// machine; times are monotonic nanoseconds.
struct Congestion {
  /// A route that was slow is slow until it shows otherwise, or nothing has waited for so long.
  static let memory: UInt64 = 10_000_000_000
  /// It lags when pushes wait for this part of the time that makes it slow: longer than they do on
  /// a route that has all it can take.
  private static let lagging: UInt64 = 10
  /// The rate of a route is measured over so long: answers come in waves.
  private static let measured: UInt64 = 500_000_000

  private var lastLagged: UInt64?
  private var lastSlow: UInt64?
  private var taken = 0
  private var takenSince: UInt64 = 0
  /// When it was observed last, pushes had waited too long.
  private(set) var isHoldingUp = false

  /// Pushes wait long enough to keep their segments from ending.
  var isLagging: Bool { lastLagged != nil }
  /// They wait too long for a batch to wait for them.
  var isSlow: Bool { lastSlow != nil }

  /// Pushes were handed to a connection.
  mutating func take(_ pushes: Int) { taken += pushes }

  /// - Parameters:
  ///   - oldest: since when the push that is sent next has been ready; nil when none is.
  ///   - bound: how many pushes may be ready. A route that takes as many in `slowAfter` is fast.
  ///   - slowAfter: a push that waits longer makes the route slow.
  mutating func observe(oldest: UInt64?, bound: Int, slowAfter: UInt64, at now: UInt64) {
    let isFast = measure(bound: bound, slowAfter: slowAfter, at: now)
    let wait = oldest.map { now > $0 ? now - $0 : 0 } ?? 0
    isHoldingUp = wait >= slowAfter
    Self.judge(&lastSlow, isTrue: wait >= slowAfter, isFast: isFast, at: now)
    Self.judge(&lastLagged, isTrue: wait >= slowAfter / Self.lagging, isFast: isFast, at: now)
  }

  private mutating func measure(bound: Int, slowAfter: UInt64, at now: UInt64) -> Bool {
    let elapsed = now &- takenSince
    guard elapsed >= Self.measured else { return false }
    defer {
      taken = 0
      takenSince = now
    }
    return Double(taken) * Double(slowAfter) >= Double(bound) * Double(elapsed)
  }

  private static func judge(
    _ last: inout UInt64?, isTrue: Bool, isFast: Bool, at now: UInt64
  ) {
    if isTrue {
      last = now
    } else if let seen = last, isFast || now &- seen >= memory {
      last = nil
    }
  }
}
