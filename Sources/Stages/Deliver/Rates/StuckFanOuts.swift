import Model

/// The fan-outs of a route that get nowhere: others go before them, segments keep no places for
/// them, and together they get the rate of a server that accepts nothing (`Overload.floor`). Shared
/// by a route's topics. Times are monotonic nanoseconds.
final class StuckFanOuts {
  /// Each of them is sent now and then, however many they are: seconds.
  private static let eachSentIn = 5.0

  /// They stay known while they are here, so that no other takes an identity over.
  private var fanOuts: [ObjectIdentifier: FanOut] = [:]
  private var pace = Pace()
  /// Their pushes that may go now.
  private(set) var allowance = Int.max

  private var rate: Double { max(Overload.floor, Double(fanOuts.count) / Self.eachSentIn) }

  var isEmpty: Bool { fanOuts.isEmpty }

  func contains(_ fanOut: FanOut) -> Bool {
    !fanOuts.isEmpty && fanOuts[ObjectIdentifier(fanOut)] != nil
  }

  func isSame(as others: [FanOut]) -> Bool {
    others.count == fanOuts.count && others.allSatisfy(contains)
  }

  func replace(by others: [FanOut]) {
    fanOuts = Dictionary(uniqueKeysWithValues: others.map { (ObjectIdentifier($0), $0) })
  }

  /// Called before pushes are handed out.
  func earn(at now: UInt64) { if !isEmpty { allowance = pace.allowance(rate, at: now) } }

  /// Pushes of one of them have gone.
  func sent(_ pushes: Int) {
    pace.take(pushes, rate)
    allowance -= pushes
  }

  /// When the next may go; nil when one may go now.
  func opensAt(_ now: UInt64) -> UInt64? { isEmpty ? nil : pace.opensAt(rate, now) }
}
