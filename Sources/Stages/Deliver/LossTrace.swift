/// What a push has been through in lost connections, as far as only this route knows it; what also
/// counts elsewhere is in its history. Times are monotonic nanoseconds.
struct LossTrace: Equatable {
  /// 0: not here.
  private(set) var firstAt: UInt64 = 0
  /// When it was lost last, or came here after it had been lost elsewhere.
  private(set) var lastAt: UInt64 = 0
  /// Losses here.
  private(set) var count: UInt8 = 0
  /// Nothing else is in flight in the connection that it is sent on.
  private(set) var isAlone = false
  /// If it is lost now, that speaks against it.
  private(set) var isProof = false
  /// It had no answer as one that asked whether credentials are taken: others ask first.
  private(set) var isGivenUp = false
  /// A loss spoke against it.
  private(set) var isLikely = false

  /// It comes as one that may be why a connection was lost.
  mutating func came(at now: UInt64) { if lastAt == 0 { lastAt = now } }

  /// - Parameters:
  ///   - isFresh: the connection has carried nothing.
  ///   - takenBefore: when a push had been taken last as the connection was opened.
  mutating func sent(isAlone: Bool, isFresh: Bool, takenBefore: UInt64) {
    self.isAlone = isAlone
    isProof = isAlone && isFresh && takenBefore > lastAt
  }

  /// It is lost, for no longer than others are asked; that says nothing of it.
  mutating func giveUp() { isGivenUp = true }

  /// - Parameter speaksAgainst: it was a proof, and losses of pushes that are alone are rare.
  mutating func lost(at now: UInt64, speaksAgainst: Bool = false) {
    if speaksAgainst { isLikely = true }
    if count == 0 { firstAt = now }
    lastAt = now
    if count < .max { count += 1 }
    isAlone = false
    isProof = false
    isGivenUp = false
  }
}
