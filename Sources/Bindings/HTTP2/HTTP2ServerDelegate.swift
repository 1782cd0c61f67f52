/// Hears what the client says. All calls come from inside `receive` and `nextOutput`. `respond`,
/// `reset`, `goAway` and the like may be called from here, `receive` and `nextOutput` may not.
/// Buffers are good for the call only. A slot is a small number that belongs to one request until
/// its `streamClosed`.
package protocol HTTP2ServerDelegate: AnyObject {
  func http2(slot: Int, requestBegan stream: Int32)
  /// Pseudo-header fields too, in the order in which they came; trailers are not reported.
  func http2(slot: Int, field name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)
  func http2(slot: Int, requestBody bytes: UnsafeRawBufferPointer)
  /// Head and body are complete: answer now or later.
  func http2(requestEnded slot: Int)
  /// The stream is over, answered or not; the slot is free.
  func http2(slot: Int, streamClosed errorCode: UInt32)
}

/// A response body that is made while it is sent, so that a long one needs no memory.
package protocol HTTP2BodySource: AnyObject {
  /// Fills some of `buffer`, which is never empty. `isFinal` ends the body; until then at least one
  /// byte must be written.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isFinal: Bool)
}
