/// A pause or cancellation of a running fan-out, by an operator or by the end of the stream.
package enum Brake: String, Sendable {
  /// Nothing of it is sent until it goes on; what is not in flight waits as stragglers.
  case paused
  /// Nothing of it is sent any more: what has no outcome is `cancelled`.
  case cancelled
}
