/// The live backend's record that a stream is over: its fan-outs stop.
package struct StreamEnd: Sendable, Equatable {
  package let streamer: String
  package let stream: String
  /// Milliseconds since 1970. What went live after it is another broadcast.
  package let occurredAt: Int64

  package init(streamer: String, stream: String, occurredAt: Int64) {
    self.streamer = streamer
    self.stream = stream
    self.occurredAt = occurredAt
  }
}
