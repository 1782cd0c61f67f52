/// The way of a push to Apple, as far as it can be closed: an environment, and in it a topic whose
/// credentials may be refused.
package struct PushRoute: Sendable, Equatable, Hashable {
  package let destination: Destination
  /// Bundle id and the push type's suffix, as in `PushHeaders`.
  package let topic: String

  package init(destination: Destination, topic: String) {
    self.destination = destination
    self.topic = topic
  }
}
