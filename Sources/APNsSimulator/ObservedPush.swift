/// A request for a token that was judged, as whoever observes the simulator gets it. The bytes are
/// good until the call returns.
package struct ObservedPush {
  /// Lower-case hex.
  package let token: UnsafeBufferPointer<UInt8>
  package let payload: UnsafeRawBufferPointer
  /// The answer that the client gets, unless the connection ends before.
  package let answer: SimulatedAnswer
}
