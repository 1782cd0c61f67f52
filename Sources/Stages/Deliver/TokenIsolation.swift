import Model

/// Bad tokens must not stall good ones: once a server has made a connection pay for what it
/// rejected there (`StreamCut`), pushes to tokens that it has taken and pushes to others part for a
/// while, and only the former go on the ordinary connections. In all other times nothing is known
/// of tokens and nothing is asked. Times are monotonic nanoseconds.
final class TokenIsolation {
  /// Since a connection was made to pay last: the next events of those who stream daily, and of
  /// many who have the same followers, come within it.
  static let memory: UInt64 = 3_600_000_000_000
  /// Where no connection is to be had for those that are unknown, they go with the others for so
  /// long.
  static let rest: UInt64 = 30_000_000_000
  /// Pushes that were looked at lately, for what most of them are.
  private static let remembered = 1_024

  private var taken = TakenTokens()
  private var isWatching = false
  private var until: UInt64 = 0
  private var restsUntil: UInt64 = 0
  /// Pushes are looked at before they are sent.
  private(set) var isOn = false
  private var looked = 0
  private var unknown = 0

  /// A connection was made to pay.
  func begin(at now: UInt64) {
    until = now &+ Self.memory
    isWatching = true
    isOn = now >= restsUntil
  }

  /// No connection is to be had for those that are unknown.
  func pause(at now: UInt64) {
    restsUntil = now &+ Self.rest
    isOn = false
  }

  /// Called now and then.
  func forget(at now: UInt64) {
    guard isWatching else { return }
    isWatching = now < until
    isOn = isWatching && now >= restsUntil
    if !isWatching { taken = TakenTokens() }
  }

  func took(_ push: ReadyPush) {
    guard isWatching else { return }
    taken.insert(TakenTokens.hash(push.batch.bytes[push.batch[push.index].token]))
  }

  /// Most pushes are to tokens of which nothing is known: those that are have nothing to fear from
  /// being held up by a few.
  var areMostUnknown: Bool { unknown * 2 > looked }

  /// How many pushes at the beginning of a run are alike, and whether their tokens were taken
  /// before.
  func look(at run: ReadyRun) -> (count: Int, areKnown: Bool) {
    let areKnown = isKnown(run, 0)
    var count = 1
    while count < run.count, isKnown(run, count) == areKnown { count += 1 }
    return (count, areKnown)
  }

  /// So many of those that were looked at are on their way, here or there.
  func note(_ count: Int, areKnown: Bool) {
    looked += count
    if !areKnown { unknown += count }
    while looked > Self.remembered {
      looked /= 2
      unknown /= 2
    }
  }

  private func isKnown(_ run: ReadyRun, _ offset: Int) -> Bool {
    let batch = run.first.batch
    return taken.contains(
      TakenTokens.hash(batch.bytes[batch[run.first.index + offset].token]))
  }
}
