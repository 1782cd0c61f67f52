import Model

/// An event that the worker will take, with its document as it is sent.
package struct ReadEvent: Sendable {
  package let event: Event
  package var id: String { event.id }
  package var streamer: String { event.streamer }
  package var document: [UInt8] { event.document }
}
