/// A request for a subscription that was judged, as whoever observes the simulator gets it. The
/// bytes are good until the call returns.
package struct ObservedWebPush {
  /// Of a subscription by number (`NumberedSubscriptions`); nil: it was made one by one.
  package let number: Int?
  /// Of the service, in lower case.
  package let host: String
  /// Decrypted.
  package let message: UnsafeRawBufferPointer
  /// The answer that the client gets, unless the connection ends before.
  package let answer: WebPushAnswer
  /// Of that answer; nil where it has none.
  package let status: Int?
}
