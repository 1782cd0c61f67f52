/// A response body that is made while it is sent, so that a long one needs no memory.
package protocol HTTP2BodySource: AnyObject {
  /// Fills some of `buffer`, which is never empty. `isFinal` ends the body; until then at least one
  /// byte must be written.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isFinal: Bool)
}
