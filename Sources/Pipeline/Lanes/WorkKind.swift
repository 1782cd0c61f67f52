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
