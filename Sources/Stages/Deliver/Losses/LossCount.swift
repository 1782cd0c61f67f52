/// Connections that were lost with pushes in flight, gathered for the operator: one at once, and
/// those that follow soon together. A pure machine; times are monotonic nanoseconds.
struct LossCount {
  struct Losses: Equatable {
    var connections = 0
    var pushes = 0
    /// Of the last one.
    var reason = ""
  }

  private static let interval: UInt64 = 10_000_000_000

  private var losses = Losses()
  private var toldAt: UInt64?

  mutating func count(_ pushes: Int, reason: String) {
    losses.connections += 1
    losses.pushes += pushes
    losses.reason = reason
  }

  /// What is to be told now; nil when nothing is.
  mutating func due(at now: UInt64) -> Losses? {
    guard losses.connections > 0 else { return nil }
    if let toldAt, now &- toldAt < Self.interval { return nil }
    defer { losses = Losses() }
    toldAt = now
    return losses
  }
}
