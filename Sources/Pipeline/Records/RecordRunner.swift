import Ingest
import Kafka

/// Who works on records for the pump: a lane.
package protocol RecordRunner: Sendable {
  /// What a task that calls `run` should prefer, so that it goes on where that is after each wait.
  var taskExecutor: (any TaskExecutor)? { get }

  /// Does all that a record asks for.
  ///
  /// - Parameter vacate: called when the record needs its place no longer; perhaps not before the
  ///   end.
  func run(
    _ message: KafkaMessage, _ kind: WorkKind, vacate: @escaping @Sendable () -> Void
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
