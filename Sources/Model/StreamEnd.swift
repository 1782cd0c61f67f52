/// What the live backend wrote to Kafka when a stream was over: nobody need be told of it any more.
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
