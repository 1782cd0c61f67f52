import Model
import Text

/// The outliers among a route's fan-outs: nearly all of their pushes fail, and not for the server.
/// Others go before them, segments keep no slots for them, and together they get the rate of a
/// server that accepts nothing. Shared by a route's topics. Times are monotonic nanoseconds.
final class Outliers {
  /// Each outlier is sent once in so many seconds, however many they are.
  private static let eachSentIn = 5.0

  /// They stay known while they are here, so that no other takes an identity over.
  private var fanOuts: [ObjectIdentifier: FanOut] = [:]
  private var bucket = TokenBucket()
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
  func fill(at now: UInt64) { if !isEmpty { allowance = bucket.allowance(rate, at: now) } }

  /// Pushes of an outlier have gone.
  func sent(_ pushes: Int) {
    bucket.sent(pushes, rate)
    allowance -= pushes
  }

  /// When the next may go; nil when one may go now.
  func opensAt(_ now: UInt64) -> UInt64? { isEmpty ? nil : bucket.opensAt(rate, now) }
}
