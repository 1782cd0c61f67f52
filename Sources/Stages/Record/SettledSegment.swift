import Model

package struct SettledSegment: Sendable, Equatable {
  /// It was the last one: what became of the whole fan-out.
  package let fanOut: [FanOutFigure]?
  /// No segment of it is in the dead letters; `done` instead of `incomplete`.
  package var isComplete = true
  var fanOutDone: Bool { fanOut != nil && isComplete }
  /// Of the whole segment.
  package let findings: PruneFindings
  /// Counters that Redis did not take (overflow, a key of another type); the rest was recorded.
  package let recordErrors: Int
}
