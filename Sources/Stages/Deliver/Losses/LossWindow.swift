/// How many pushes may be in flight on one connection, by how often connections are lost: what is
/// in flight then may be on its device and is sent again. While losses are rare there is no bound
/// of its own here. A pure machine; times are monotonic nanoseconds.
struct LossWindow {
  /// Before anything is known of a server; the bound doubles with each round of answers.
  static let initial = 64
  /// Of so many pushes that are answered between two losses, about one is sent twice.
  private static let share = 20
  /// Fewer in flight would be much slower, and hardly more careful.
  static let floor = 8
  /// Fewer answers than this between the losses of two connections that were open together: both
  /// have the same cause, as when a server restarts.
  private static let sameCause = 2 * floor

  /// Answers between the last two losses; nil before the first.
  private var between: Int?
  /// Answers since the last loss.
  private var answers = 0
  private var lastLostAt: UInt64 = 0

  /// Grows with the answers, so that a server in good order is soon trusted again.
  var limit: Int {
    guard let between else { return Self.initial + answers }
    return max(Self.floor, max(between, answers) / Self.share)
  }

  /// Connections are lost so often that little may be in flight on each.
  func isCareful(streams: Int) -> Bool { between != nil && limit < streams }

  mutating func answered(_ pushes: Int = 1) { answers += pushes }

  /// Called now and then.
  mutating func forget(at now: UInt64) {
    guard between != nil, now &- lastLostAt >= Evidence.memory else { return }
    between = nil
    answers = 0
  }

  /// A connection was lost with pushes in flight.
  mutating func lost(openedAt: UInt64, at now: UInt64) {
    guard openedAt >= lastLostAt || answers >= Self.sameCause else { return }
    between = answers
    answers = 0
    lastLostAt = now
  }
}
