/// What was lost on a route lately: whether one push is why all of it was, and how often those are
/// lost that go alone. A pure machine; times are monotonic nanoseconds.
struct LossLog {
  /// A loss that is older says nothing, unless the push was in it.
  private static let memory: UInt64 = 60_000_000_000
  /// Of more than these no push can be the cause: it has its outcome before.
  private static let maximumTimes = 2 * LossRule.most

  private var times: [UInt64] = []
  /// Pushes that were sent alone for the first time, while others were taken, and had an answer.
  private var answered = 0
  /// Of such pushes, those that were lost.
  private var lost = 0
  private static let remembered = 64

  /// A connection was lost, or a push was given up.
  mutating func add(at now: UInt64) {
    if times.count == Self.maximumTimes { times.removeFirst() }
    times.append(now)
  }

  /// Whether nothing was lost without this push.
  func isOnlyCause(_ push: LossTrace, at now: UInt64) -> Bool {
    let memory = now > Self.memory ? now - Self.memory : 0
    let since = push.firstAt > 0 ? min(push.firstAt, memory) : memory
    return times.count { $0 >= since } <= Int(push.count)
  }

  mutating func lone(isLost: Bool) {
    if isLost { lost += 1 } else { answered += 1 }
    guard answered + lost > Self.remembered else { return }
    answered /= 2
    lost /= 2
  }

  /// More than a quarter of those that go alone are lost: it is not for their sake, or for that of
  /// so many that nobody can tell. Three that are known to be lost are not many.
  var isCommon: Bool { 4 * (lost + 1) > answered + lost + 12 }
}
