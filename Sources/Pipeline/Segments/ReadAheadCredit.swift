/// How many segments may have their members read before it is known whether they are ours: a pure
/// machine. Such a read is in vain when the event is a duplicate or the segment another's, and what
/// is read so may be thousands of members. A segment that was ours makes up for one in vain, so
/// there are no more of these than of those, and a round at most for the first.
struct ReadAheadCredit: Equatable {
  private let maximum: Int
  private(set) var left: Int

  init(maximum: Int) {
    self.maximum = maximum
    left = maximum
  }

  /// Whether one more may be read ahead.
  mutating func take() -> Bool {
    guard left > 0 else { return false }
    left -= 1
    return true
  }

  /// A segment that was asked for was ours.
  mutating func earn() { left = min(left + 1, maximum) }
}
