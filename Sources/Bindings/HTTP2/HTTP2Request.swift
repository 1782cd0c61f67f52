/// What a client has said, in the order in which it came. A slot is a small number that belongs to
/// one request until its `.closed`. Bytes are good until the next call on the session.
package enum HTTP2Request {
  case began(slot: Int, stream: Int32)
  /// Pseudo-header fields too; trailers are not reported.
  case field(slot: Int, name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)
  case body(slot: Int, UnsafeRawBufferPointer)
  /// Head and body are complete: answer now or later.
  case ended(slot: Int)
  /// The stream is over, answered or not; the slot is free.
  case closed(slot: Int, errorCode: UInt32)
}

/// A response body that is made while it is sent, so that a long one needs no memory.
package protocol HTTP2BodySource: AnyObject {
  /// Fills some of `buffer`, which is never empty. `isFinal` ends the body; until then at least one
  /// byte must be written.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isFinal: Bool)
}
