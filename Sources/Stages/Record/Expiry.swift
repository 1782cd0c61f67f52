/// What `RecordStage.expire` did with a stale event.
package enum Expiry: Sendable, Equatable {
  case recorded
  case alreadyRecorded
  /// It had been opened before: open it again and go on, so that what is left of it is counted.
  case begun
  /// Another record brought the same id before: drop it.
  case duplicate
}
