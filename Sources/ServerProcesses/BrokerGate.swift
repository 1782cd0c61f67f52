/// Whether a forwarder hands on what comes to it. Confined to its loop.
final class BrokerGate {
  /// The kind of a produce request in Kafka's protocol.
  private static let produce = 0

  /// Produce requests that pass before it stands still; nil: all.
  private var left: Int?
  private(set) var isFrozen = false

  func freeze(afterProduceRequests number: Int) { left = number }

  func thaw() {
    left = nil
    isFrozen = false
  }

  /// A request of this kind comes.
  func see(requestOfKind kind: Int) {
    guard !isFrozen, kind == Self.produce, let left else { return }
    self.left = left - 1
    isFrozen = left <= 0
  }
}
