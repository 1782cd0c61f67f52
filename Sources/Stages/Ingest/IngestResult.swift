import Model

/// The meaning of a record from Kafka.
package enum IngestResult: Sendable, Equatable {
  case event(Event)
  /// An event from the future as this worker's clock sees it: ask another clock before it goes to
  /// the dead letters for this reason.
  case early(Event, IngestError)
  /// A stream is over.
  case ended(StreamEnd)
  case segment(Segment)
  /// More segments of a very large event are to be written.
  case plan(RemainingPlan)
  /// For the dead letters: no later try will make it better.
  case malformed(IngestError)
}
