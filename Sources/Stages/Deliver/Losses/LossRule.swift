import Model

/// The meaning of a lost connection for a push that was in flight on it: a pure rule.
///
/// A push that was in flight may be on its device already, so that each loss counts, wherever the
/// push goes next: `most` of them end it as unanswered. Until then it goes on probe connections,
/// with fewer others after each loss (`ProbeQueue`), and in the end alone on a new connection. If
/// that is lost while other pushes are accepted, it is this push that the server closes connections
/// for, and the loss counts as `alone`. Where no probe connection can be had, it goes in ordinary
/// traffic, after a back-off that parts it from those that were lost with it.
enum LossRule {
  /// Losses that end a push. With the back-offs between them, a server may be out of order for most
  /// of a minute before the only push that there is ends like this.
  static let most = 8
  /// The count of a loss of a push that was alone while others were accepted. Two such losses end
  /// it if it was lost twice before, among others, and three if once.
  static let alone = 3
  /// The count of a silence, when the connection was well, in hundredths of a try: three end a
  /// push.
  static let silence = mostSuspicion / 3 + 1
  static let mostSuspicion = UInt16(RetrySubject.mostTries) * PushHistory.wholeTry

  enum Verdict: Equatable {
    /// It goes on a probe connection.
    case probe
    /// It does so after a back-off, the first, the second…: a server that accepts nothing is asked
    /// no more often than one that cannot be reached.
    case backOff(tries: Int)
    /// It is the push.
    case reject
  }

  /// - Parameters:
  ///   - losses: of the push before, as its history counts them.
  ///   - wereOthersAccepted: since the push was lost before.
  static func judge(
    _ loss: LossTrace, losses: Int, wereOthersAccepted: Bool
  ) -> (losses: Int, verdict: Verdict) {
    guard loss.isAlone || loss.goesInTurn else { return (min(losses + 1, most - 1), .probe) }
    let isCause = loss.isAlone && wereOthersAccepted
    let counted = min(losses + (isCause ? alone : 1), most)
    guard counted < most else { return (counted, .reject) }
    return (counted, isCause ? .probe : .backOff(tries: counted + 2))
  }
}

/// The losses of a push as only this route knows them.
struct LossTrace: Equatable {
  /// Monotonic nanoseconds; 0: not lost here.
  var lastAt: UInt64 = 0
  /// It was sent last as the first and only push of its connection.
  var isAlone = false
  /// No probe connection could be had: it goes in ordinary traffic.
  var goesInTurn = false
  /// A GOAWAY said that the server had not processed it.
  var wasUnprocessed = false
}
