import Model

/// Which tokens a server has taken, and whether that is asked. In ordinary times it is not, and
/// nothing is noted; only once a server has made a connection pay for tokens that it rejected there
/// (`StreamCut`), and for an hour from then on. Times are monotonic nanoseconds.
final class TokenIsolation {
  /// The next events of those who stream daily, and of many who have the same followers, come
  /// within it.
  static let memory: UInt64 = 3_600_000_000_000
  /// Where no connection takes those that are unknown, nobody waits for one for so long.
  static let rest: UInt64 = 30_000_000_000

  private var taken = TakenTokens()
  /// What is taken is noted.
  private(set) var isWatching = false
  private var until: UInt64 = 0
  private var restsUntil: UInt64 = 0

  /// A connection was made to pay.
  func begin(at now: UInt64) {
    isWatching = true
    until = now &+ Self.memory
  }

  /// No connection takes those that are unknown.
  func rest(at now: UInt64) { restsUntil = now &+ Self.rest }

  /// Tokens that are unknown may go apart.
  func isOn(at now: UInt64) -> Bool { isWatching && now >= restsUntil }

  /// Called now and then.
  func forget(at now: UInt64) {
    guard isWatching, now >= until else { return }
    isWatching = false
    taken = TakenTokens()
  }

  func took(_ push: ReadyPush) { taken.insert(hash(push.batch, push.index)) }

  /// How many pushes at the beginning of a run are alike, and whether their tokens were taken
  /// before.
  func look(at run: ReadyRun) -> (count: Int, areKnown: Bool) {
    let areKnown = isKnown(run, 0)
    var count = 1
    while count < run.count, isKnown(run, count) == areKnown { count += 1 }
    return (count, areKnown)
  }

  private func isKnown(_ run: ReadyRun, _ offset: Int) -> Bool {
    taken.contains(hash(run.first.batch, run.first.index + offset))
  }

  private func hash(_ batch: PushBatch, _ index: Int) -> UInt64 {
    TakenTokens.hash(batch.bytes[batch[index].token])
  }
}
