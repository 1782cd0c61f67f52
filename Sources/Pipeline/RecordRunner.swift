import Kafka

/// Who works on records for the pump: a lane.
package protocol RecordRunner: Sendable {
  /// Does all that a record asks for.
  ///
  /// - Parameter vacate: called when the record needs its place no longer; perhaps not before the
  ///   end.
  func run(
    _ message: KafkaMessage, _ kind: WorkKind, vacate: @escaping @Sendable () -> Void
  ) async -> Receipt

  /// Tries until the dead letters take what they would not take at first, or the worker stops.
  func bury(_ burial: Burial) async -> Receipt
}

extension Lane: RecordRunner {}
