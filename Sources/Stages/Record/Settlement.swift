/// What became of a segment's tally.
package enum Settlement: Sendable, Equatable {
  case recorded(SettledSegment)
  /// Another run has recorded this segment: it is settled all the same.
  case alreadySettled
  /// What is noted of its tokens was not told yet: `takeUp` these notes, tell them, forget them,
  /// and settle again.
  case untold([String])
}
