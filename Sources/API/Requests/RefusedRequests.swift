import HTTPServer

/// Limits the audit lines of refused requests (401, 403): each client gets some, and all together a
/// bounded number, so that a flood of them hides nobody else. Its owner locks it against other
/// threads.
struct RefusedRequests: Sendable {
  enum Somebody: Hashable, Sendable {
    case key(String)
    /// A client without a good key.
    case stranger(PeerAddress)
  }

  private var each = RequestRates<Somebody>(perSecond: 1, burst: 20)
  private var together = RequestRates<Bool>(perSecond: 20, burst: 200)
  /// Refusals without a line.
  private(set) var withheld = 0

  /// Whether one more gets a line.
  mutating func admit(_ somebody: Somebody, now: UInt64) -> Bool {
    guard each.take(somebody, now: now) == nil, together.take(true, now: now) == nil else {
      withheld += 1
      return false
    }
    return true
  }
}
