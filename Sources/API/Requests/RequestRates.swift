import Text

/// How many requests somebody may make: a bucket each, which is full at first and holds what a
/// second gives. Its owner keeps two threads from it.
struct RequestRates<Somebody: Hashable & Sendable>: Sendable {
  private let perSecond: Double
  private let burst: Double
  /// Bounds the memory that a client with many addresses can fill.
  private let maximumBuckets: Int
  private var buckets: [Somebody: TokenBucket] = [:]

  init(perSecond: Double, burst: Double, maximumBuckets: Int = 10_000) {
    self.perSecond = perSecond
    self.burst = burst
    self.maximumBuckets = maximumBuckets
  }

  /// How many are remembered.
  var count: Int { buckets.count }

  /// Takes one. When there is none: after how many seconds there is.
  /// - Parameter now: in ns, of a clock that never goes back. A caller that has read the clock
  ///   earlier than another may still come later.
  mutating func take(_ somebody: Somebody, now: UInt64) -> Double? {
    var bucket = buckets[somebody] ?? TokenBucket(tokens: burst, at: now)
    bucket.fill(perSecond, burst: burst, at: now)
    let isThere = bucket.tokens >= 1
    if isThere { bucket.take() }
    keep(bucket, of: somebody, now)
    return isThere ? nil : (1 - bucket.tokens) / perSecond
  }

  private mutating func keep(_ bucket: TokenBucket, of somebody: Somebody, _ now: UInt64) {
    if buckets[somebody] == nil, buckets.count >= maximumBuckets { forget(now) }
    buckets[somebody] = bucket
  }

  /// Those whose buckets are full are as if they had never come; if that is nobody, all go.
  private mutating func forget(_ now: UInt64) {
    buckets = buckets.filter { $0.value.tokens(perSecond, at: now) < burst }
    if buckets.count >= maximumBuckets { buckets = [:] }
  }
}
