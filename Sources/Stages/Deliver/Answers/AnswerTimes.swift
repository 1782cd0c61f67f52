/// How long answers take on one connection, and so which push is passed over: the server has
/// answered what was sent no sooner, and this one not, for far longer than any answer has taken. It
/// is this push then that it does not answer. A pure machine; times are monotonic nanoseconds.
struct AnswerTimes {
  /// This part of the slowest answer's time is forgotten with each tick: half of it in ten seconds.
  private static let fading: UInt64 = 32
  /// So many times the slowest answer's time.
  private static let tolerance: UInt64 = 3

  /// When the latest of the answered pushes was sent.
  private var latestAnswered: UInt64 = 0
  private var slowest: UInt64 = 0

  mutating func answered(sentAt: UInt64, at now: UInt64) {
    latestAnswered = max(latestAnswered, sentAt)
    slowest = max(slowest, now &- sentAt)
  }

  /// Called twice a second: one slow answer must not lengthen what is waited for good.
  mutating func fade() { slowest -= slowest / Self.fading }

  /// - Parameter shortest: no push is passed over sooner.
  func isPassedOver(sentAt: UInt64, at now: UInt64, shortest: UInt64) -> Bool {
    latestAnswered >= sentAt && isLong(since: sentAt, at: now, shortest: shortest)
  }

  /// Far longer than any answer has taken.
  func isLong(since sentAt: UInt64, at now: UInt64, shortest: UInt64) -> Bool {
    now &- sentAt > max(shortest, Self.tolerance &* slowest)
  }
}
