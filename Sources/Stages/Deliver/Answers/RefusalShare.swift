import Glibc
import Text

/// How likely it is that a push is refused with which nothing is wrong: the part that a server
/// answers with "not now" whatever it is sent. By it a refusal is weighed: where none of the others
/// is refused it speaks against the push, where most are it says nothing. Devices that are never
/// taken do not raise it by being tried over and over. A pure machine.
struct RefusalShare {
  /// A refusal counts as a whole try if the chance of it is this or less: a less likely one counts
  /// no more. Ten of them in a row have a chance of one in a thousand million.
  private static let wholeTry = 1.0 / 8

  /// Answers to first tries: rises at once when a server gets into trouble.
  private var firstTries = DecayingRatio(remembering: Evidence.rememberedAnswers)
  /// All answers to pushes until they were taken: falls when the trouble is over.
  private var untilTaken = DecayingRatio(remembering: Evidence.rememberedAnswers)

  mutating func refused(isFirstTry: Bool) { if isFirstTry { firstTries.add(failures: 1) } }

  /// Refusals of a push before it was taken, as far as they count: through a whole outage it is one
  /// push among others.
  static func refusals(of push: ReadyPush) -> Int {
    min(Int(push.history.tries), Evidence.rememberedAnswers / 16)
  }

  /// Pushes were taken, `firsts` of them on their first try, the others after these refusals.
  mutating func accepted(_ pushes: Int, firsts: Int, refusals: Int) {
    firstTries.add(firsts, failures: 0)
    untilTaken.add(pushes + refusals, failures: refusals)
  }

  /// The suspicion that one more refusal adds to a push, in hundredths of a try.
  var weight: UInt16 { Self.weight(max(firstTries.likelyShare, untilTaken.likelyShare)) }

  /// The same of an answer that speaks of its device where nothing is known of others.
  var deviceWeight: UInt16 {
    Self.weight(max(firstTries.shareOfOthers, untilTaken.shareOfOthers))
  }

  private static func weight(_ share: Double) -> UInt16 {
    // Where more are refused, a refusal says too little to be added up.
    guard share <= Evidence.nearlyAll else { return 0 }
    return UInt16(min(100, 100 * log(max(share, .leastNonzeroMagnitude)) / log(wholeTry)))
  }
}
