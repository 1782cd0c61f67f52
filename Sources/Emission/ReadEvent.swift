import Model

/// An event, or the end of a stream, that the worker will take, with its document as it is sent.
package struct ReadEvent: Sendable {
  /// Nil of the end of a stream.
  package let event: Event?
  /// An event's id, or which stream ends.
  package let name: String
  package let streamer: String
  package let document: [UInt8]

  init(_ event: Event) {
    self.event = event
    name = event.id
    streamer = event.streamer
    document = event.document
  }

  init(_ end: StreamEnd, document: [UInt8]) {
    event = nil
    name = "the end of \(end.stream)"
    streamer = end.streamer
    self.document = document
  }
}
