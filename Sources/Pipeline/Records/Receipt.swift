import Ingest

/// What the pump may do with a record's offset.
package enum Receipt: Sendable, Equatable {
  /// Settled and recorded: the offset may be committed.
  case done
  /// The worker stopped before the record was done: its offset must not be committed.
  case notDone
  /// Another worker, or another run, has the segment's claim: hand the record in again later.
  case again(after: Duration)
  /// This worker's clock is so far ahead that it cannot do the record: another worker may. `why` in
  /// words.
  case notHere(clockAhead: Duration, why: String)
  /// No try will make it better: it belongs to the dead letters, with this reason. Its offset must
  /// not be committed before it is there.
  case hopeless(IngestError)
}
