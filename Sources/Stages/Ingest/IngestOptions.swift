import Model

/// Topics, and what an event may be.
package struct IngestOptions: Sendable, Equatable {
  package var eventsTopic = "notify-followers"
  package var segmentsTopic = "notify-followers.segments"
  /// Segments of events with more than `Segment.maximumOfUsual` of them.
  package var bulkTopic = "notify-followers.segments.bulk"
  package var stragglersTopic = "notify-followers.stragglers"
  package var deadLettersTopic = "notify-followers.dead-letters"
  /// The topic for changes of tokens; nil: nobody reads them.
  package var tokensTopic: String?
  /// The topic for what became of fan-outs and pushes; nil: nobody reads it.
  package var outcomesTopic: String?
  /// The share of events without a `traceparent` that are traced all the same, 0...1; nil: such an
  /// event has no trace.
  package var rootTraceShare: Double?
  /// A larger record is refused without being parsed. A segment record carries its event, so it may
  /// be `segmentOverheadBytes` longer.
  package var maximumEventBytes = 64 * 1024
  /// For an event that does not say when it expires, in seconds.
  package var defaultExpirySeconds: Int64 = 900
  /// An event that wants to live longer is refused, in seconds. Apple stores for 30 days at most.
  package var maximumExpirySeconds: Int64 = 30 * 24 * 3600
  /// An event that wants to be sent later than so long from now is refused.
  package var maximumSendAhead: Duration = .seconds(7 * 24 * 3600)
  /// How far the clock of the live backend may be ahead of ours.
  var clockSkew = Event.clockSkew

  static let segmentOverheadBytes = 1024
  /// The most that the pushes of a straggler record take, besides its event.
  package static let stragglerBytes = 64 * 1024

  /// The largest record that is not refused: one of stragglers, which carries its event.
  package var maximumRecordBytes: Int {
    maximumEventBytes + Self.segmentOverheadBytes + Self.stragglerBytes
  }

  package init() {}
}
