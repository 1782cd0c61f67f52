/// A message for a registration token that was judged, as whoever observes the simulator gets it.
/// The bytes are good until the call returns.
package struct ObservedMessage {
  package let token: UnsafeBufferPointer<UInt8>
  /// The body of the request.
  package let request: UnsafeRawBufferPointer
  /// The answer that the client gets, unless the connection ends before.
  package let answer: FCMAnswer
}
