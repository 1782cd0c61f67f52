import Keyspace

/// The result of `RecordStage.claim`.
package enum ClaimResult: Sendable, Equatable {
  /// Nobody else works on it until the claim ends; `redisTime` in ms since 1970. A cancelled
  /// fan-out's pushes need no more than their outcomes. `takenFrom`: the owner, a dead worker for
  /// instance, whose claim on it has ended and was not settled, or who gave it up when pushes of it
  /// may have been sent. The same owner hears the same when it asks again.
  case yours(redisTime: Int64, isCancelled: Bool = false, takenFrom: FormerOwner? = nil)
  /// Its fan-out is paused: ask again later.
  case paused
  /// Somebody works on it; ask again after `milliseconds` at the latest.
  case claimed(milliseconds: Int64)
  case settled
  /// The segment that the stragglers left is not settled: ask again later.
  case unplanned
  /// The segment that the stragglers left was settled by a run that did not write this list, and
  /// gave its pushes their outcomes itself: drop it.
  case orphaned

  package var takenFrom: FormerOwner? {
    if case .yours(_, _, let former) = self { former } else { nil }
  }
}

/// A worker that began a segment and did not settle it.
package struct FormerOwner: Sendable, Equatable {
  package let name: String
  /// It gave the segment up itself, as a worker does that stops; otherwise it died, or stood still,
  /// and its claim ended.
  package let hasReleased: Bool

  package init(name: String, hasReleased: Bool) {
    self.name = name
    self.hasReleased = hasReleased
  }
}
