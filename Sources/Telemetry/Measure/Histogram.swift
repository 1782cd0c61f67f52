/// How long things took, in buckets that grow with the value: exact below 32 ns, then 32 buckets
/// to each doubling (log-linear, as HdrHistogram's). A percentile is off by at most `maximumError`
/// of its value. 9.5 KB, whatever is recorded. A value type confined to its lane; a copy is a
/// snapshot.
package struct Histogram: Sendable {
  /// Half a bucket's width over its lower bound: 1/64.
  package static let maximumError = 1.0 / 64
  /// Longer values (over 36 minutes) are counted as this one.
  package static let maximumNanoseconds: UInt64 = (1 << 41) - 1

  private static let subBits = 5
  private static let subCount = 1 << subBits
  /// 32 exact values, then 32 buckets for each exponent from 5 to 40.
  private static let bucketCount = subCount * (41 - subBits + 1)

  private var buckets = [UInt64](repeating: 0, count: bucketCount)
  package private(set) var count: UInt64 = 0
  package private(set) var sumNanoseconds: UInt64 = 0
  package private(set) var minimum: UInt64 = .max
  package private(set) var maximum: UInt64 = 0

  package init() {}

  package mutating func record(_ nanoseconds: UInt64) {
    let value = min(nanoseconds, Self.maximumNanoseconds)
    buckets[Self.bucket(of: value)] += 1
    count += 1
    sumNanoseconds &+= value
    minimum = min(minimum, value)
    maximum = max(maximum, value)
  }

  /// Adds what another lane recorded.
  package mutating func merge(_ other: Histogram) {
    for index in buckets.indices { buckets[index] += other.buckets[index] }
    count += other.count
    sumNanoseconds &+= other.sumNanoseconds
    minimum = min(minimum, other.minimum)
    maximum = max(maximum, other.maximum)
  }

  /// Nil when nothing was recorded.
  package var mean: Double? { count == 0 ? nil : Double(sumNanoseconds) / Double(count) }

  /// The smallest value that at least `percent` (0…100) of all do not exceed (nearest rank), in
  /// nanoseconds; nil when nothing was recorded.
  package func percentile(_ percent: Double) -> UInt64? {
    guard count > 0, !percent.isNaN else { return nil }
    let share = min(max(percent, 0), 100) / 100
    let rank = min(count, max(1, UInt64((share * Double(count)).rounded(.up))))
    if rank == count { return maximum }
    var seen: UInt64 = 0
    for (index, occupants) in buckets.enumerated() {
      seen += occupants
      if seen >= rank { return min(maximum, max(minimum, Self.middle(of: index))) }
    }
    return maximum
  }

  static func bucket(of value: UInt64) -> Int {
    guard value >= UInt64(subCount) else { return Int(value) }
    let exponent = 63 - value.leadingZeroBitCount
    let sub = Int(value >> UInt64(exponent - subBits)) & (subCount - 1)
    return (exponent - subBits + 1) * subCount + sub
  }

  static func middle(of bucket: Int) -> UInt64 {
    guard bucket >= subCount else { return UInt64(bucket) }
    let shift = UInt64(bucket / subCount - 1)
    let lower = UInt64(subCount + bucket % subCount) << shift
    return lower + (UInt64(1) << shift) / 2
  }
}
