/// The rate over the last few seconds: young enough to show a stall, old enough not to jump.
struct RateMeter {
  private struct Sample {
    var at: UInt64
    var count: Int
  }

  private static let spacing: UInt64 = 250_000_000
  /// 20 samples a quarter of a second apart: five seconds.
  private static let maximumSamples = 20
  private var samples: [Sample]
  private var latest: Sample

  init(at now: UInt64, count: Int = 0) {
    latest = Sample(at: now, count: count)
    samples = [latest]
  }

  mutating func record(_ count: Int, at now: UInt64) {
    guard now >= latest.at else { return }
    // A counter that went back was reset: what was measured before it says nothing now.
    if count < latest.count { samples = [Sample(at: now, count: count)] }
    latest = Sample(at: now, count: count)
    if let last = samples.last, now - last.at >= Self.spacing {
      if samples.count == Self.maximumSamples { samples.removeFirst() }
      samples.append(latest)
    }
  }

  /// Nil until there are two points in time.
  var perSecond: Double? {
    guard let first = samples.first, latest.at > first.at else { return nil }
    return Double(latest.count - first.count) * 1e9 / Double(latest.at - first.at)
  }
}
