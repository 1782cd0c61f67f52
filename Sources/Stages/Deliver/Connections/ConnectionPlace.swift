import EventLoop

/// A place for one connection, and when the next may take it. Servers take rapid connecting and
/// disconnecting for an attack, so connections that were of no use come at growing distances.
package struct ConnectionPlace {
  var connection: (any PushConnection)?
  /// Runs until the next connection is opened.
  var opening: LoopTimer?
  /// Its connection was closed for being idle: the next push opens another at once.
  var isResting = false
  /// So many connections wait for their last answers that the next one comes when one of these is
  /// gone.
  var waitsForRetiring = false
  /// Its next connection will be opened without anybody asking for it.
  var isComing: Bool { opening != nil || waitsForRetiring }
  /// Its last connection came to nothing before anything was sent on it.
  var cameToNothing = false
  /// Its last connection could not be made, and it waits for the next try.
  var wasRefused = false
  /// Its last connection carried enough to be replaced at once: a server that ends connections
  /// after some requests, and is in good order, sets the pace.
  private(set) var isEarned = false
  private var failures = 0
  /// A server that closes what is idle is in good order: this slows down only what nobody needs.
  private var idleCloses = 0

  /// How a connection ended.
  package enum End: Equatable {
    /// It carried so many pushes that were answered, or will be; 0: of no use at all.
    case carried(Int)
    /// Nothing had been in flight for a while: servers close such connections.
    case idle
    /// The server said that it is sent too much (ENHANCE_YOUR_CALM), however much it has taken.
    /// `wasLong`: it had been well for a while before.
    case calm(wasLong: Bool)

    var isCalm: Bool { if case .calm = self { true } else { false } }
  }

  /// Nanoseconds after which a server's word that it is sent too much is news, and no repetition.
  static let calmMemory: UInt64 = 60_000_000_000

  /// A connection that carried so many is replaced at once. Node's http2 closes after 50.
  package static let usefulPushes = 20
  /// For one that carried fewer, the less the more it carried: a server of such habits is slow, but
  /// not out of order.
  private static let longestAfterSome: Duration = .seconds(5)

  /// It went down with probes, or was cut for bad tokens, while others were taken: they are why,
  /// and not the server. Or it was what it showed, and the next shows something else.
  mutating func forgive() { failures = 0 }

  /// Its next connection is about to be opened: nothing is waited for any more.
  mutating func begin() {
    opening?.cancel()
    opening = nil
    isResting = false
    waitsForRetiring = false
    wasRefused = false
  }

  /// How long to wait with the next connection.
  /// - Parameter isPunished: the server made it pay for bad tokens. It would do that to the next as
  ///   well: they come no more often than others.
  mutating func delay(
    after end: End, isPunished: Bool = false, retry: RetryPolicy, chance: UInt64
  ) -> Duration {
    isEarned = false
    switch end {
    case .carried(let pushes) where pushes >= Self.usefulPushes:
      failures = 0
      idleCloses = 0
      isEarned = !isPunished
      return .zero
    case .carried(let pushes):
      failures += 1
      let delay = retry.backOff(tries: failures, chance: chance)
      guard pushes > 0 else { return delay }
      let missing = Self.usefulPushes - pushes
      return min(delay, Self.longestAfterSome / Self.usefulPushes * missing)
    case .calm(let wasLong):
      failures = wasLong ? 1 : failures + 1
      return retry.backOff(tries: failures, chance: chance)
    case .idle:
      failures = 0
      idleCloses += 1
      isResting = true
      return retry.backOff(tries: idleCloses, chance: chance)
    }
  }
}
