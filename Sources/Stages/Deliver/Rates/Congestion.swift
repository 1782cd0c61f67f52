/// Whether a route takes pushes more slowly than they come, so that they wait for a stream: a pure
/// machine. Times are monotonic nanoseconds.
struct Congestion {
  /// A route that was slow is slow until it shows otherwise, or nothing has waited for so long.
  static let memory: UInt64 = 10_000_000_000
  /// It lags when pushes wait for this part of the time that makes it slow: longer than they do on
  /// a route that has all it can take.
  private static let lagging: UInt64 = 10
  /// What a route takes is looked at over so long: answers come in waves.
  private static let measured: UInt64 = 500_000_000

  private var lastLagged: UInt64?
  private var lastSlow: UInt64?
  private var taken = 0
  private var takenSince: UInt64 = 0
  /// When it was looked at last, pushes had waited too long.
  private(set) var isHoldingUp = false

  /// Pushes wait long enough to keep their segments from ending.
  var isLagging: Bool { lastLagged != nil }
  /// They wait too long for anybody to wait for them.
  var isSlow: Bool { lastSlow != nil }

  /// Pushes were handed to a connection.
  mutating func take(_ pushes: Int) { taken += pushes }

  /// Looks at the route; called now and then.
  ///
  /// - Parameters:
  ///   - oldest: since when the push that is sent next has been ready; nil when none is.
  ///   - bound: how many pushes may be ready. A route that takes as many in `slowAfter` is fast.
  ///   - slowAfter: what waits longer makes the route slow.
  mutating func look(oldest: UInt64?, bound: Int, slowAfter: UInt64, at now: UInt64) {
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
