/// Limits of pushes a second, of all workers together.
package struct PushRates: Sendable, Equatable {
  /// By the app's bundle id.
  package var apps: [String: Int] = [:]
  /// Of each event; nil: none.
  package var event: Int?

  /// More than any Redis gives out, and than one millisecond can be divided into.
  package static let maximum = 1_000_000

  package init() {}

  /// Whether an event has a limit.
  package func limit(_ event: Event) -> Bool {
    self.event != nil || event.pushesPerSecond != nil || apps[event.app] != nil
  }
}
