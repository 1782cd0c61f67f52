/// The events that a worker has had to do with last, so that it names each once and not once a
/// segment. A pure machine.
struct RecentEvents {
  /// Far more than are under way at a time; one that comes back later is named again.
  static let capacity = 256

  private var order: [String] = []
  private var known: Set<String> = []

  /// Whether the event was not known; it is now.
  mutating func isNew(_ event: String) -> Bool {
    guard known.insert(event).inserted else { return false }
    order.append(event)
    if order.count > Self.capacity { known.remove(order.removeFirst()) }
    return true
  }
}
