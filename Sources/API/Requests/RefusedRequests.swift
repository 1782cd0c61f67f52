import HTTPServer

/// How many audit lines those get who are refused (401, 403): each whoever asks some, and all
/// together a bounded number, so that a flood of them hides nobody else. Its owner keeps two
/// threads from it.
struct RefusedRequests: Sendable {
  enum Somebody: Hashable, Sendable {
    case key(String)
    /// Who shows no key that is good.
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
