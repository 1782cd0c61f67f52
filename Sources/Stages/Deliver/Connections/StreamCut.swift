/// Whether a server took streams from a connection for the tokens that it rejected there. Servers
/// count the errors of a connection: too many end it, bad tokens sooner than others, and its limit
/// of streams falls first, down to one. A server that takes less for being busy, or goes away as
/// servers do, is another matter: it is obeyed. A pure machine; times are monotonic nanoseconds.
package struct StreamCut: Equatable {
  private var most = 0
  private var streams = 0
  /// When the limit fell last; 0: never.
  private var loweredAt: UInt64 = 0
  /// When a token was rejected last; 0: never.
  private var rejectedAt: UInt64 = 0

  /// It may have half as many streams as before, or less, for what was rejected on it.
  private(set) var isCut = false

  package init() {}

  /// Whether a push was on its way when the limit fell. The refusal of such a push says nothing
  /// about the push, nor about how much the server takes.
  func wasOnItsWay(sentAt: UInt64) -> Bool { sentAt <= loweredAt }

  /// The server's SETTINGS have come.
  /// - Parameter limit: as far as it is made use of.
  mutating func limited(to limit: Int, at now: UInt64) {
    if limit < streams { loweredAt = now }
    streams = limit
    most = max(most, limit)
    judge()
  }

  /// A token was rejected; the server may have said before what follows from it.
  mutating func rejected(at now: UInt64) {
    rejectedAt = now
    judge()
  }

  private mutating func judge() {
    let isLow = most > 1 && streams <= most / 2
    let distance = max(rejectedAt, loweredAt) - min(rejectedAt, loweredAt)
    isCut = isLow && (isCut || (rejectedAt > 0 && distance <= Evidence.briefMemory))
  }
}
