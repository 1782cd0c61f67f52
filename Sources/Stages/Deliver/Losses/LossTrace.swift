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

  /// How it was sent last.
  private(set) var manner = Manner.ordinary
  /// It was only never answered, in connections that were well: it goes with others of its kind.
  private(set) var isSilent = false
  /// How often it was beyond the last stream that a GOAWAY names, by what that says of it.
  private var leftOut: UInt8 = 0

  enum Manner {
    case ordinary
    /// As one that may be why a connection was lost.
    case suspect
    /// As one that was never answered: with all the time that a request has.
    case silent
  }

  /// Behind a connection that was of use. A server that goes away after so many requests does so
  /// for none of those behind, of which there are some each time.
  private static let leftOutBehindUseful: UInt8 = 1
  private static let leftOutAmongMany: UInt8 = 8
  /// The first that is left out may be why the server goes away.
  private static let leftOutNext: UInt8 = 64
  /// Three times the first, 24 times among many, or often behind useful ones.
  private static let leftOutOften: UInt8 = 192

  /// It comes as one that may be why a connection was lost.
  mutating func came(at now: UInt64) { if lastAt == 0 { lastAt = now } }

  /// - Parameters:
  ///   - isFresh: the connection has carried nothing.
  ///   - takenBefore: when a push had been taken last as the connection was opened.
  mutating func sent(isAlone: Bool, isFresh: Bool, takenBefore: UInt64) {
    manner = .suspect
    self.isAlone = isAlone
    isProof = isAlone && isFresh && takenBefore > lastAt
  }

  mutating func sentAsSilent() {
    manner = .silent
    isAlone = false
    isProof = false
  }

  /// Others were sent on its connection while it was in flight.
  mutating func joined() {
    isAlone = false
    isProof = false
  }

  /// It had no answer, and its connection was well.
  mutating func silenced(at now: UInt64) {
    isSilent = true
    manner = .ordinary
    joined()
    lastAt = now
  }

  /// It had an answer, though not its last.
  mutating func heard() {
    isSilent = false
    manner = .ordinary
  }

  /// The server went away and said that it has not looked at it.
  /// - Parameters:
  ///   - isNext: it is the first of those.
  ///   - wasOfUse: the connection carried enough before.
  mutating func leftOut(isNext: Bool, wasOfUse: Bool) {
    let weight =
      if isNext {
        Self.leftOutNext
      } else {
        wasOfUse ? Self.leftOutBehindUseful : Self.leftOutAmongMany
      }
    leftOut = min(leftOut, Self.leftOutOften - 1) + weight
  }

  /// It was on the wire, and the server said that it has not looked at it.
  var wasLeftOut: Bool { leftOut > 0 }

  /// A server that goes away over and over just before it may do so for its sake.
  var isLeftOutOften: Bool { leftOut >= Self.leftOutOften }

  /// It is lost, for no longer than others are asked; that says nothing of it.
  mutating func giveUp() { isGivenUp = true }

  /// - Parameter speaksAgainst: it was a proof, and losses of pushes that are alone are rare.
  mutating func lost(at now: UInt64, speaksAgainst: Bool = false) {
    if speaksAgainst { isLikely = true }
    if count == 0 { firstAt = now }
    lastAt = now
    if count < .max { count += 1 }
    joined()
    isGivenUp = false
    isSilent = false
    manner = .ordinary
  }
}
