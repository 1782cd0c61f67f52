/// Limits of pushes a second, of all workers together.
package struct PushRates: Sendable, Equatable {
  /// By the app's bundle id.
  package var apps: [String: Int] = [:]
  /// Of each event; nil: none.
  package var event: Int?

  /// More than any Redis gives out, and than one millisecond can be divided into.
  package static let maximum = 1_000_000

  package init() {}

  /// Of one event alone, the lower of what we and the event itself say; nil: none.
  package func rate(of event: Event) -> Int? {
    [self.event, event.pushesPerSecond].compactMap(\.self).min()
  }

  /// Whether an event has a limit, of its own or of its app.
  package func bounds(_ event: Event) -> Bool { rate(of: event) != nil || apps[event.app] != nil }
}
