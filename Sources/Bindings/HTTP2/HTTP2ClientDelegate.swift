/// Hears what the server says. All calls come from inside `receive` and `nextOutput`: record and
/// return; never call `submit`, `receive` or `nextOutput` from here. Buffers are good for the call
/// only.
package protocol HTTP2ClientDelegate: AnyObject {
  /// The final response head is complete; its fields have been reported before. 1xx heads are
  /// swallowed.
  func http2(slot: Int, status: Int)
  /// A field of the final response head; pseudo-header fields and trailers are not reported.
  func http2(slot: Int, header name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)
  /// A piece of the response body, of any length; the owner says how much of it it keeps.
  func http2(slot: Int, body: UnsafeRawBufferPointer)
  /// The stream is over and its slot is free. 0: the response was read to its end. Anything else is
  /// an error code of RFC 9113, section 7; the response may nevertheless have been complete before
  /// it.
  func http2(slot: Int, closed errorCode: UInt32)
  /// The server takes no new streams. Those above `lastStreamID` close with REFUSED_STREAM right
  /// after.
  func http2GoAway(lastStreamID: Int32, errorCode: UInt32, debug: UnsafeRawBufferPointer)
  /// The server's SETTINGS arrived: read `remoteMaxConcurrentStreams` again.
  func http2SettingsChanged()
  func http2PingAcknowledged()
}
