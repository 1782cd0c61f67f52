/// All the work of one event in one lane: its pushes take turns with those of others. Known by its
/// identity: the segments of an event share one.
package final class FanOut {
  /// It has one segment only: its pushes go before those of larger ones.
  package let isSmall: Bool
  /// How many of its pushes may go a second; empty, as mostly: as many as Apple takes.
  package let limits: [PushLimit]
  /// A push of it was handed to a connection.
  package private(set) var isTried = false
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

  /// It is its limits that hold it up.
  package var isShort: Bool { !limits.isEmpty && limits.contains(where: \.isShort) }

  /// Pushes were handed to a connection.
  package func sent(_ pushes: Int) {
    isTried = true
    for limit in limits { limit.take(pushes) }
  }

  /// Pushes of it wait that its limits do not let go.
  package func lack() {
    for limit in limits where limit.tokens <= 0 { limit.lack() }
  }
}
