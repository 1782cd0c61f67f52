/// How often something took how long. Confined to whoever observes; those of several are added up.
package struct Histogram: Sendable, Equatable {
  /// Upper bounds of the buckets in nanoseconds, inclusive, rising.
  package let bounds: [UInt64]
  /// Of each bucket; what is over the last bound is in none.
  package private(set) var counts: [Int]
  package private(set) var count = 0
  private var nanoseconds: UInt64 = 0

  package init(bounds: [Duration]) {
    self.bounds = bounds.map {
      UInt64(clamping: $0.components.seconds) &* 1_000_000_000
        &+ UInt64(clamping: $0.components.attoseconds / 1_000_000_000)
    }
    precondition(
      zip(self.bounds, self.bounds.dropFirst()).allSatisfy { $0 < $1 }, "bounds must rise")
    counts = Array(repeating: 0, count: bounds.count)
  }

  /// From a millisecond, which is a push on a loopback interface, to half a minute, when a request
  /// without an answer is given up.
  package static let answerTimes = Histogram(bounds: [
    .milliseconds(1), .milliseconds(2), .milliseconds(5), .milliseconds(10), .milliseconds(20),
    .milliseconds(50), .milliseconds(100), .milliseconds(200), .milliseconds(500), .seconds(1),
    .seconds(2), .seconds(5), .seconds(10), .seconds(30),
  ])

  /// From what is read as it is written to what waited for a worker through the night.
  package static let eventAges = Histogram(bounds: [
    .milliseconds(10), .milliseconds(50), .milliseconds(100), .milliseconds(500), .seconds(1),
    .seconds(2), .seconds(5), .seconds(10), .seconds(30), .seconds(60), .seconds(300),
    .seconds(900), .seconds(3_600),
  ])

  /// From a stream of twenty followers to a giant that a limit holds up for most of an hour.
  package static let fanOutTimes = Histogram(bounds: [
    .milliseconds(5), .milliseconds(10), .milliseconds(50), .milliseconds(100), .milliseconds(500),
    .seconds(1), .seconds(2), .seconds(5), .seconds(10), .seconds(30), .seconds(60), .seconds(300),
    .seconds(900), .seconds(3_600),
  ])

  /// - Parameter times: so many took the same time.
  package mutating func observe(nanoseconds: UInt64, times: Int = 1) {
    count += times
    self.nanoseconds &+= nanoseconds &* UInt64(times)
    // Most are in the first buckets, and there are few.
    for index in bounds.indices where nanoseconds <= bounds[index] {
      counts[index] += times
      return
    }
  }

  /// All that were observed together.
  package var seconds: Double { Double(nanoseconds) / 1_000_000_000 }

  package static func + (first: Histogram, second: Histogram) -> Histogram {
    precondition(first.bounds == second.bounds, "histograms of different bounds")
    var sum = first
    for index in sum.counts.indices { sum.counts[index] += second.counts[index] }
    sum.count += second.count
    sum.nanoseconds &+= second.nanoseconds
    return sum
  }
}
