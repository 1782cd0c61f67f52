/// How fast a counter rises: over the last ten seconds, or over its last two samples where these
/// are further apart. Times are ms of one clock. Pure.
package struct CounterRate: Sendable {
  package static let windowMilliseconds: Int64 = 10_000
  /// A sample that follows the last one sooner is left out, so that the window holds at most 64.
  private static let spacingMilliseconds = windowMilliseconds / 64

  private let leastMilliseconds: Int64
  private var samples: [(count: Int, at: Int64)] = []

  /// - Parameter leastMilliseconds: over a shorter time there is no rate.
  package init(leastMilliseconds: Int64 = 1) { self.leastMilliseconds = leastMilliseconds }

  package mutating func add(_ count: Int, at now: Int64) {
    // A counter that fell was another one, and a clock that was set back measures nothing.
    if let last = samples.last, now < last.at || count < last.count { samples = [] }
    if let last = samples.last, now - last.at < Self.spacingMilliseconds { return }
    samples.append((count, now))
    while samples.count > 2, samples[0].at < now - Self.windowMilliseconds {
      samples.removeFirst()
    }
  }

  /// Nil until it is known.
  package var perSecond: Double? {
    guard let first = samples.first, let last = samples.last,
      last.at - first.at >= max(1, leastMilliseconds)
    else { return nil }
    return Double(last.count - first.count) * 1000 / Double(last.at - first.at)
  }
}
