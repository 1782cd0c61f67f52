/// What became of a segment's tally.
package enum Settlement: Sendable, Equatable {
  case recorded(SettledSegment)
  /// Another run has recorded this segment: it is settled all the same.
  case alreadySettled
  /// Changes of its tokens are noted that are not published yet: `takeUp` these notes, publish
  /// them, forget them, and settle again.
  case pending([String])
}
