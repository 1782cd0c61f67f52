import Ingest
import Kafka

/// Works on records for the pump: a lane.
package protocol RecordRunner: Sendable {
  /// A task that calls `run` prefers this executor, so that it goes on there after each wait.
  var taskExecutor: (any TaskExecutor)? { get }

  /// Does all that a record asks for.
  ///
  /// - Parameter releaseSlot: called when the record needs its slot no longer; perhaps not before
  ///   the end.
  func run(
    _ message: KafkaMessage, _ kind: WorkKind, releaseSlot: @escaping @Sendable () -> Void
  ) async -> Receipt

  /// Lets the event say what is missing of it, now that a record of it is in the dead letters;
  /// false when the worker stopped before.
  func noteDeadLetter(_ message: KafkaMessage, _ error: IngestError) async -> Bool

  /// Plans segments again whose records Kafka no longer has, as far as Redis knows them.
  /// - Parameter lostAt: when that was found last, in monotonic nanoseconds.
  /// - Returns: when to call it again; nil when nothing is left to do.
  func recoverSegments(lostAt: UInt64) async -> Duration?

  /// How far this worker's clock is ahead of Redis'; nil when Redis does not say.
  func clockAhead() async -> Duration?
}

extension Lane: RecordRunner {}

/// The pump's next step with a record's offset.
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
  case deadLetter(IngestError)
}

/// The kind of work that a record from Kafka asks of a lane.
package enum WorkKind: Int, Sendable, Equatable, CaseIterable {
  /// A record of the events topic: a small fan-out, or the plan of a large one.
  case event
  /// A record of the segments topic.
  case segment
  /// A record of the topic of bulk segments: one of a giant's, or the plan of more of them.
  case bulk
  /// A record of the stragglers topic.
  case straggler
}
