import Text

/// How much a lane works on and keeps in memory at a time. `MemoryBudget` adds it up. In a worker
/// `segments`, `bulk` and `batchBytes` are what the settings `lanes.segments_per_lane` and
/// `lanes.batch_bytes` say.
package struct LaneLimits: Sendable, Equatable {
  /// Segments of large fan-outs in flight, of usual size. More hide Redis's round trips better and
  /// cost a page and a batch of memory each.
  package var segments = 4
  /// The same of fan-outs that are bulk: no giant takes the slots of the others.
  package var bulk = 4
  /// Events in flight: small fan-outs run in these slots, so that large ones never take them.
  package var events = 14
  /// Records of stragglers in flight; each is at most a batch or two.
  package var stragglers = 4
  /// Segments that have released their slot because all their pushes were tried; beyond these a
  /// segment keeps its slot. Stragglers have as many of their own.
  package var awaitingAnswers = 512
  /// The most that they keep in memory: their records, and the batches with their last pushes,
  /// mostly one of 200 to 400 KB. Stragglers as much again.
  var awaitingBytes = 16 << 20
  /// The memory of all batches with pushes under way, those of segments that await their last
  /// answers among them; beyond this a segment makes one batch at a time, so that at most one of
  /// each segment in flight comes on top, mostly 400 KB and 1.6 MB at most. A lane that is not held
  /// up needs some 20 MiB.
  package var batchBytes = 56 << 20
  /// Pushes in a batch at most. Larger ones save nothing and make the peak of memory higher.
  package var batchPushes = 256

  package init() {}

  /// Records that are worked on at a time.
  var slots: Int { segments + bulk + events + stragglers }
}

/// The most that a crash of a worker makes others send again, whatever the audience: the segments
/// under its claims, of which nobody else knows the answers.
package struct CrashBound: Sendable, Equatable, CustomStringConvertible {
  /// Segments that are worked on, of all lanes.
  package let working: Int
  /// Segments of which all pushes were tried and the last ones wait.
  package let awaiting: Int
  /// How long claims outlive their worker.
  package let claimLifetime: Duration

  package init(lanes: Int, limits: LaneLimits, claimLifetime: Duration) {
    working = lanes * (limits.slots + LimitedSegments.maximum)
    // Stragglers have as many of their own.
    awaiting = lanes * 2 * limits.awaitingAnswers
    self.claimLifetime = claimLifetime
  }

  package var description: String {
    "sends again, \(DurationText.text(claimLifetime)) later, at most what the worker has under "
      + "claims: \(working) segments that are worked on, \(awaiting) of which the last pushes wait"
  }
}
