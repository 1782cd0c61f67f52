/// All the work of one event in one lane: its pushes take turns with those of others. Known by its
/// identity: the segments of an event share one.
package final class FanOut {
  /// It has one segment only: its pushes go before those of larger ones.
  package let isSmall: Bool
  /// How many of its pushes may go a second; empty, as mostly: as many as Apple takes.
  package let limits: [PushLimit]
  package private(set) var wasTaken = false
  /// Answers "not now" since one was taken, or none was yet.
  package private(set) var failures = 0
  /// So many devices of a fan-out may be refused between those that are taken.
  private static let mostFailures = 16
  /// Nil while it may be sent.
  package var halt: Halt?

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

  /// Pushes of it were taken lately.
  package var isWelcome: Bool { wasTaken && failures < Self.mostFailures }

  /// Pushes were handed to a connection.
  package func sent(_ pushes: Int) { for limit in limits { limit.take(pushes) } }

  /// A push was taken.
  package func taken() {
    wasTaken = true
    failures = 0
  }

  /// A push was answered "not now".
  package func failed() { failures += 1 }

  /// Pushes of it wait that its limits do not let go.
  package func lack() {
    for limit in limits where limit.tokens <= 0 { limit.lack() }
  }
}

/// A pause or cancellation of a running fan-out, by an operator or by the end of the stream.
package enum Halt: String, Sendable {
  /// Nothing of it is sent until it goes on; what is not in flight waits as stragglers.
  case paused
  /// Nothing of it is sent any more: what has no outcome is `cancelled`.
  case cancelled
}
