import Model

/// What a lost connection says about the pushes that were in flight in it, and what follows. A
/// server may close connections at one token; it may also close each after some answers, or take
/// nothing for a while, and then none of those in flight is why. A pure rule.
///
/// Every loss counts, and so many end a push: it may have been on its device each time. A loss that
/// speaks against the push counts more, and two of those are enough. One alone is enough where no
/// other connection is lost: nothing else is left to be why.
enum LossRule {
  /// Losses of a push that was in every connection that was lost.
  static let ofOnlyCause = 3
  /// What ends any push. With the waits between them, a server may be out of order for most of a
  /// minute before a push that is the only one there is ends like this.
  static let most = 8
  /// What a loss counts that speaks against its push.
  static let proof = 3

  /// What a silence counts of a push whose connection was well, in hundredths of a try: three end
  /// it.
  static let silence: UInt16 = 334
  static let mostSuspicion = 10 * PushHistory.wholeTry

  struct Loss: Equatable {
    /// Nothing else was in flight in the connection.
    var isAlone = false
    /// It was a new connection, which the server cannot have been about to close, and it was
    /// opened when the server was known to be in order: others had been taken since the push was
    /// lost before. Pushes that are alone are rarely lost.
    var isProof = false
    /// Every connection that was lost lately was lost with this push.
    var isOnlyCause = false
    /// Since it was lost before. Where nobody is, it is the server and not the push.
    var wereOthersTaken = false
    /// An earlier loss spoke against it.
    var isLikely = false
  }

  enum Verdict: Equatable {
    /// Goes again with fewer others, or alone.
    case divide
    /// Goes again alone when some others have been taken, which is soon: while they are, it can be
    /// told whether it is the push.
    case soon
    /// Goes again alone, after a back-off: the first, the second... While nothing is taken, a
    /// server is not asked more often than one that cannot be reached.
    case wait(tries: Int)
    /// It is the push.
    case reject
  }

  /// - Parameter losses: of the push before, as its history counts them.
  static func judge(_ loss: Loss, losses: Int) -> (losses: Int, verdict: Verdict) {
    guard loss.isAlone else { return (min(losses + 1, most - 1), .divide) }
    let counted = min(losses + (loss.isProof ? proof : 1), most)
    let isOnlyCause = loss.isOnlyCause && loss.wereOthersTaken && losses + 1 >= ofOnlyCause
    guard counted < most, !isOnlyCause else { return (counted, .reject) }
    if loss.wereOthersTaken { return (counted, .soon) }
    return (counted, .wait(tries: loss.isLikely ? counted - 1 : counted + 2))
  }
}
