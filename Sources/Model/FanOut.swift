/// All the work of one event in one lane: its pushes take turns with those of others. Known by its
/// identity: the segments of an event share one.
package final class FanOut {
  /// It has one segment only: its pushes go before those of larger ones.
  package let isSmall: Bool
  /// How many of its pushes may go a second; empty, as mostly: as many as Apple takes.
  package let limits: [PushLimit]
  /// Monotonic nanoseconds when a push of it was handed to a connection last; 0: none was.
  package private(set) var sentAt: UInt64 = 0
  /// Pushes that may go ahead of the others while a server takes next to nothing: each that is
  /// taken earns two, so that a fan-out which fares well is soon through, and one that is refused
  /// as often as others goes as slowly as they. At most what a lane has in flight at a distance of
  /// some ten milliseconds.
  package private(set) var credit = 0
  private static let mostCredit = 256
  package private(set) var wasTaken = false
  /// Answers "not now" since one was taken, or none was yet.
  package private(set) var failures = 0
  /// So many devices of a fan-out may be refused between those that are taken.
  private static let mostFailures = 16
  /// Nil while it may be sent.
  package var brake: Brake?

  package init(isSmall: Bool = false, limits: [PushLimit] = []) {
    self.isSmall = isSmall
    self.limits = limits
  }

  /// Pushes that its limits let go now.
  package var allowance: Int {
    limits.isEmpty ? .max : limits.reduce(.max) { min($0, max(0, $1.tokens)) }
  }

  /// One of its limits holds it up, or did a second ago.
  package var isShort: Bool { !limits.isEmpty && limits.contains(where: \.isShort) }

  package var isTried: Bool { sentAt > 0 }

  /// Pushes of it were taken lately.
  package var isWelcome: Bool { wasTaken && failures < Self.mostFailures }

  /// Pushes were handed to a connection.
  /// - Parameter now: monotonic nanoseconds.
  package func sent(_ pushes: Int, at now: UInt64) {
    sentAt = max(now, 1)
    credit = max(0, credit - pushes)
    for limit in limits { limit.take(pushes) }
  }

  /// A push was taken.
  /// - Parameter earns: the server takes next to nothing of others.
  package func taken(earns: Bool) {
    wasTaken = true
    failures = 0
    credit = earns ? min(credit + 2, Self.mostCredit) : 0
  }

  /// A push was answered "not now".
  package func failed() {
    failures += 1
    credit = max(0, credit - 1)
  }

  /// Pushes of it wait that its limits do not let go.
  package func lack() {
    for limit in limits where limit.tokens <= 0 { limit.lack() }
  }
}
