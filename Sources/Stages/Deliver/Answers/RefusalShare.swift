import Glibc

/// How likely it is that a push is refused with which nothing is wrong: the part that a server
/// answers with "not now" whatever it is sent. By it a refusal is weighed: where none of the others
/// is refused it speaks against the push, where most are it says nothing. Devices that are never
/// taken do not raise it by being tried over and over. A pure machine.
struct RefusalShare {
  /// A refusal counts as a whole try where the chance of it is this or less, and twice as unlikely
  /// ones no more. Ten of them in a row have a chance of one in a thousand million.
  private static let wholeTry = 1.0 / 8
  /// Where more are refused, a refusal says too little to be added up.
  private static let most = 0.8

  /// What was said to pushes on their first try: rises at once when a server gets into trouble.
  private var firstTries = DecayingRatio()
  /// All that was said to pushes until they were taken: falls when the trouble is over.
  private var untilTaken = DecayingRatio()
  /// What was said to pushes that had been refused before.
  private var furtherTries = DecayingRatio()
  /// Where no fewer of those are refused again, though most others are taken, it is up to the
  /// devices.
  private static let again = 0.95
  /// More tries of one push than this are not counted: a sixteenth of what is remembered.
  private static let mostOfOnePush = 16

  private static let remembered = 256

  mutating func refused(isFirstTry: Bool) {
    if isFirstTry {
      firstTries.add(1, failures: 1, remembering: Self.remembered)
    } else {
      furtherTries.add(1, failures: 1, remembering: Self.remembered)
    }
  }

  /// What is refused is so for the devices it is for, and not for being too much: less of it would
  /// help nobody.
  var isUpToDevices: Bool {
    furtherTries.likelyShare >= Self.again && firstTries.likelyShare <= 0.5
  }

  /// What a push was answered before it was taken, as far as that counts: it was refused through a
  /// whole outage, and is one voice among others all the same.
  static func refusals(of push: ReadyPush) -> Int { min(Int(push.history.tries), mostOfOnePush) }

  /// - Parameters:
  ///   - pushes: that were taken.
  ///   - firsts: of them, those that were taken on their first try.
  ///   - refusals: what the others were answered before.
  mutating func accepted(_ pushes: Int, firsts: Int, refusals: Int) {
    firstTries.add(firsts, failures: 0, remembering: Self.remembered)
    furtherTries.add(pushes - firsts, failures: 0, remembering: Self.remembered)
    untilTaken.add(pushes + refusals, failures: refusals, remembering: Self.remembered)
  }

  /// What one more refusal adds to the suspicion against a push, in hundredths of a try.
  var weight: UInt16 { Self.weight(max(firstTries.likelyShare, untilTaken.likelyShare)) }

  /// The same of an answer that speaks of its device where nothing is known of others.
  var deviceWeight: UInt16 {
    Self.weight(max(firstTries.shareOfOthers, untilTaken.shareOfOthers))
  }

  private static func weight(_ share: Double) -> UInt16 {
    guard share <= most else { return 0 }
    return UInt16(min(100, 100 * log(max(share, .leastNonzeroMagnitude)) / log(wholeTry)))
  }
}
