import Text

/// What a crash of a worker makes others send again at most, whatever the audience: the segments
/// under its claims, of which nobody else knows what was answered.
package struct CrashBound: Sendable, Equatable, CustomStringConvertible {
  /// Segments that are worked on, of all lanes.
  package let working: Int
  /// Segments of which all pushes were tried and the last ones wait.
  package let lingering: Int
  /// How long claims outlive their worker.
  package let claimLifetime: Duration

  package init(lanes: Int, limits: LaneLimits, claimLifetime: Duration) {
    working = lanes * (limits.places + LimitedSegments.maximum)
    // Stragglers have as many of their own.
    lingering = lanes * 2 * limits.lingering
    self.claimLifetime = claimLifetime
  }

  package var description: String {
    "sends again, \(DurationText.text(claimLifetime)) later, at most what the worker has under "
      + "claims: \(working) segments that are worked on, \(lingering) of which the last pushes wait"
  }
}
