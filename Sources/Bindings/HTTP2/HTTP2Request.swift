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
