/// How fast a number grows, by what it was in the last ten seconds. A pure machine; times are ms
/// since 1970.
struct PushRate {
  static let windowMilliseconds: Int64 = 10_000
  /// A shorter time says little: segments settle with thousands of pushes at once.
  private static let leastMilliseconds: Int64 = 2_000

  private var samples: [(at: Int64, count: Int)] = []

  mutating func add(_ count: Int, at now: Int64) {
    // A clock that was set back, or a number that fell, begins again.
    if let last = samples.last, now < last.at || count < last.count { samples = [] }
    // The oldest within the window, and none beyond it.
    samples.removeAll { $0.at < now - Self.windowMilliseconds }
    if samples.last?.at != now { samples.append((now, count)) }
  }

  /// A second; nil until it is known.
  var perSecond: Double? {
    guard let first = samples.first, let last = samples.last,
      last.at - first.at >= Self.leastMilliseconds
    else { return nil }
    return Double(last.count - first.count) * 1000 / Double(last.at - first.at)
  }
}
