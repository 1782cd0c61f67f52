/// Whether a server took streams from a connection for the tokens that it rejected there. Servers
/// count the errors of a connection: too many end it, bad tokens sooner than others, and its limit
/// of streams falls first, down to one. A server that takes less for being busy, or goes away as
/// servers do, is another matter: it is obeyed. A pure machine; times are monotonic nanoseconds.
package struct StreamCut: Equatable {
  /// Between a rejected token and the fall of the limit, at most: a longer time apart, one has
  /// nothing to do with the other.
  static let memory: UInt64 = 10_000_000_000
  /// Fewer, or a smaller part of the answers since the first of them, are no reason to go away.
  static let fewestErrors = 3
  static let smallestShare = 100

  private var most = 0
  private(set) var streams = 0
  /// When the limit fell last; 0: never.
  private var loweredAt: UInt64 = 0
  /// Rejected tokens with less than `memory` between one and the next.
  private var errors = 0
  private var lastErrorAt: UInt64 = 0
  /// How many pushes had been answered when the first of them was.
  private var answersBefore = 0
  private var wasSentAwayForErrors = false

  /// It may have half as many streams as before, or less, for what was rejected on it.
  private(set) var isCut = false

  package init() {}

  /// The server took streams from the connection, or ended it, for rejected tokens.
  var hadTooManyErrors: Bool { isCut || wasSentAwayForErrors }

  /// A push was on its way when the limit fell: that it is refused says nothing of it, and nothing
  /// of how much the server takes.
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
  /// - Parameter answers: of the connection until now.
  mutating func rejected(answers: Int, at now: UInt64) {
    if errors == 0 || now &- lastErrorAt > Self.memory {
      errors = 0
      answersBefore = answers - 1
    }
    errors += 1
    lastErrorAt = now
    judge()
  }

  /// The server's GOAWAY has come.
  mutating func wentAway(answers: Int, at now: UInt64) {
    let areRecent = errors >= Self.fewestErrors && now &- lastErrorAt <= Self.memory
    wasSentAwayForErrors = areRecent && errors * Self.smallestShare >= answers - answersBefore
  }

  private mutating func judge() {
    let isLow = most > 1 && streams <= most / 2
    let distance = max(lastErrorAt, loweredAt) - min(lastErrorAt, loweredAt)
    isCut = isLow && (isCut || (errors > 0 && distance <= Self.memory))
  }
}
