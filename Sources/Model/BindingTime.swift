/// When a device can have been bound. A time outside of that was written in other units, or by a
/// clock that is wrong: nothing can be told by it.
package enum BindingTime {
  /// 2009-06-01T00:00:00Z, in ms since 1970: Apple's push service began on 2009-06-17.
  package static let earliest: Int64 = 1_243_814_400_000
  /// 2100-01-01T00:00:00Z: what claims to be later was written in other units.
  package static let latest: Int64 = 4_102_444_800_000
  /// A day, in ms: so far another clock may be ahead.
  package static let tolerance: Int64 = 86_400_000

  /// - Parameter now: ms since 1970.
  package static func isPossible(_ time: Int64, now: Int64) -> Bool {
    time >= earliest && time <= now + tolerance
  }
}
