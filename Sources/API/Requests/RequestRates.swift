/// How many requests somebody may make: a bucket each, which is full at first and holds what a
/// second gives. Its owner keeps two threads from it.
struct RequestRates<Somebody: Hashable & Sendable>: Sendable {
  private struct Bucket: Sendable {
    var tokens: Double
    var filledAt: UInt64
  }

  private let perSecond: Double
  private let burst: Double
  /// Who asks from many addresses must not fill our memory.
  private let maximumBuckets: Int
  private var buckets: [Somebody: Bucket] = [:]

  init(perSecond: Double, burst: Double, maximumBuckets: Int = 10_000) {
    self.perSecond = perSecond
    self.burst = burst
    self.maximumBuckets = maximumBuckets
  }

  /// How many are remembered.
  var count: Int { buckets.count }

  /// Takes one. When there is none: after how many seconds there is.
  /// - Parameter now: in ns, of a clock that never goes back. Who read it earlier than another may
  ///   still come later.
  mutating func take(_ somebody: Somebody, now: UInt64) -> Double? {
    var bucket = filled(somebody, now)
    defer { keep(bucket, of: somebody, now) }
    guard bucket.tokens >= 1 else { return (1 - bucket.tokens) / perSecond }
    bucket.tokens -= 1
    return nil
  }

  private func filled(_ somebody: Somebody, _ now: UInt64) -> Bucket {
    guard var bucket = buckets[somebody] else { return Bucket(tokens: burst, filledAt: now) }
    guard now > bucket.filledAt else { return bucket }
    let seconds = Double(now - bucket.filledAt) / 1_000_000_000
    bucket.tokens = min(burst, bucket.tokens + seconds * perSecond)
    bucket.filledAt = now
    return bucket
  }

  private mutating func keep(_ bucket: Bucket, of somebody: Somebody, _ now: UInt64) {
    if buckets[somebody] == nil, buckets.count >= maximumBuckets { forget(now) }
    buckets[somebody] = bucket
  }

  /// Those whose buckets are full are as if they had never come; if that is nobody, all go.
  private mutating func forget(_ now: UInt64) {
    buckets = buckets.filter { filled($0.key, now).tokens < burst }
    if buckets.count >= maximumBuckets { buckets = [:] }
  }
}
